// refused: filters, window, stride, groups and dilation are whole numbers from 1, the padding is from 0
// refused: conv_sizes_are_positive<8, 3, 1, 0, 0, 1>
// refused: Conv<8, 3, cleave::Groups<0>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, Conv<8, 3, Groups<0>>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
