// refused: Blocks<n>: a product's sums are cut into 2 to 64 blocks
// refused: there_are_2_to_64_blocks<1
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Blocks<1>> {};
