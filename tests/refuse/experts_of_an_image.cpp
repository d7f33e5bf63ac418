// refused: shapes do not chain: the layer wants a sequence
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<2, 4, 4>, Experts<4, Linear<8>>, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
