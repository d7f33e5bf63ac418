// refused: Plan: two policies of one kind
// refused: each_kind_of_policy_is_said_once<2>
// refused: BatchKind
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Batch<16>> {};
