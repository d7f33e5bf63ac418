// refused: shapes do not chain: a layer's groups must divide the channels
// refused: groups_divide_channels
// refused: 3, 2
// refused: Conv<8, 3
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 32, 32>, Conv<8, 3, Groups<2>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
