// refused: ConvTranspose<filters, window, Stride<s>, Pad<p>>: filters, window and stride
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<2, 6, 6>, ConvTranspose<4, 4, Pad<2>>, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
