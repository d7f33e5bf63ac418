// refused: LocalResponseNorm<n>: the sum is over n neighbouring channels, at least 1
// refused: response_norm_has_channels<0, 1>
// refused: LocalResponseNorm<0
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, LocalResponseNorm<0>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
