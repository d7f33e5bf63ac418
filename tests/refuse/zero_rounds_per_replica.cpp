// refused: Zero<2>, Accumulate: gradients are summed in each round
// refused: replicas_share_each_round<true, true>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync, Zero<2>, PerReplica<6, 2>>, Adam, Accumulate<2>> {};
