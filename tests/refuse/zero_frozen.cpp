// refused: Zero<3>: each rank has the weights of which it updates a part
// refused: weights_in_turn_learn<3, true>
// refused: Sync
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<32>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync, Zero<3>>, Adam, Freeze<1>> {};
