// refused: window and stride are whole numbers from 1, the padding is from 0 and smaller than the window
// refused: pool_sizes_are_positive<2, 2, 2>
// refused: AvgPool<2, cleave::Pad<2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, AvgPool<2, Pad<2>>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
