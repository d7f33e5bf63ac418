// refused: Sequence<positions, features>, Image<channels, height, width>: extents are whole numbers from 1
// refused: input_extents_are_positive<3, 0, 8>
// refused: Image<3, 0, 8>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 0, 8>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
