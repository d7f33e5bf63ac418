// refused: Shards<n>: where replicas wait for each other, several shards are for Sync alone
// refused: updates_of_all_weights_at_once_have_one_shard<4, true>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Clipped : Adam {
  static constexpr float clip_norm = 1;
};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Shards<4>, Clipped> {};
