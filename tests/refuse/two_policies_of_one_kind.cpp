// refused: Plan: two policies of one kind; say each thing once
// refused: each_kind_of_policy_is_said_once<2>
// refused: OptimizerKind
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Momentum, Adam> {};
