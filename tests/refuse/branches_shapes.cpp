// refused: shapes do not chain: the two inputs of a join
// refused: joined_shapes_agree
// refused: 900, 1024
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 32, 32>, Branches<Concat, Path<Conv<4, 3>>, Path<Conv<4, 3, Pad<1>>>>, CrossEntropy> {
};
struct Train : Plan<Net, Batch<8>> {};
