// refused: Zero<2>: a gradient's memory is used again before the step ends
// refused: gradients_in_turn_are_there_once<2, 2, 1>
// refused: Sync
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync, Zero<2>>, Adam, Accumulate<2>> {};
