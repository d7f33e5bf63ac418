// refused: GroupNorm<n>: the channels are in n groups, at least 1
// refused: group_norm_has_groups<0>
// refused: GroupNorm<0
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, GroupNorm<0>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
