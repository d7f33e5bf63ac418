// refused: clip_norm: the norm is over all gradients of a step, which no shard of a server has
// refused: gradients_are_clipped_where_they_are_summed<true, false>
// refused: Clipped
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Clipped : Adam {
  static constexpr float clip_norm = 1;
};
struct Train : Plan<Net, Batch<8>, DataParallel<Async>, Clipped> {};
