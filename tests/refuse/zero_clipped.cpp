// refused: Zero<2>: a gradient's memory is used again before the norm
// refused: gradients_in_turn_have_no_norm<2, true>
// refused: Clipped
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Clipped : Adam {
  static constexpr float clip_norm = 1;
};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync, Zero<2>>, Clipped> {};
