// refused: Linear<n>: a layer has n output features, at least 1
// refused: linear_has_features<0>
// refused: Linear<0>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<0>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
