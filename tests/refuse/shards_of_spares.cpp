// refused: Shards<n>: where replicas wait for each other, several shards are for Sync alone
// refused: updates_of_all_weights_at_once_have_one_shard<2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync, Spares<1>>, Shards<2>> {};
