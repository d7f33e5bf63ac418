// refused: clip_norm: gradients are clipped to a norm above 0
// refused: gradients_are_clipped_to_something<false>
// refused: Clipped
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Clipped : Adam {
  static constexpr float clip_norm = 0;
};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Clipped> {};
