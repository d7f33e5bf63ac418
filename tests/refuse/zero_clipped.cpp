// refused: Zero<n>: a rank has only its part of the summed gradients
// refused: zero_waits_for_no_norm<true, true>
// refused: Clipped
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Clipped : Adam {
  static constexpr float clip_norm = 1;
};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync, Zero<1>>, Clipped> {};
