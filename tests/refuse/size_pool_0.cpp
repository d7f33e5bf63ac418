// refused: window and stride are whole numbers from 1, the padding is from 0 and smaller than the window
// refused: pool_sizes_are_positive<0, 0, 0>
// refused: MaxPool<0>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, MaxPool<0>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
