// refused: Zero<n>: the stages are 1
// refused: zero_has_a_known_stage<4, true>
// refused: Sync
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync, Zero<4>>, Adam> {};
