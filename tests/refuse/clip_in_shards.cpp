// refused: clip_norm: the norm is over all gradients of a step, which no one of several shards has
// refused: one_shard_clips<
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Clipped : Sgd {
  static constexpr float clip_norm = 1;
};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Shards<2>, Clipped> {};
