// refused: shapes do not chain: Times wants its second input in the shape of the first, or one factor for each
// refused: factors_fit
// refused: 4096, 5
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net
    : Sequential<Image<4, 32, 32>, Branches<Times, Path<>, Path<AvgPool<32>, Linear<5>, Sigmoid>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
