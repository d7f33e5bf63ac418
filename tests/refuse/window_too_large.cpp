// refused: shapes do not chain: the window is larger than the padded image
// refused: the_window_fits
// refused: 5, 6
// refused: MaxPool<6
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 5, 5>, MaxPool<6>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
