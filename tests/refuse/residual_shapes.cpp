// refused: shapes do not chain: the two inputs of a join must have the same shape
// refused: joined_shapes_agree
// refused: 64, 512
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Residual<Linear<64>, Relu>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
