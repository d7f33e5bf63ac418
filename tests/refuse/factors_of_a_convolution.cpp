// refused: SendFactors, SendCheapest: only the gradient of a Linear is a product of two small factors
// refused: Conv<8
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, Conv<8, 3, SendFactors>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>> {};
