// refused: shapes do not chain: the layer wants an Image
// refused: the_input_has_the_dimensions
// refused: 1, 3
// refused: Conv<8, 3
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Conv<8, 3>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
