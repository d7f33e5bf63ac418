// refused: a non-linear layer on a Partial sum: f(a + b) is not f(a) + f(b)
// refused: Relu
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64, NoBias, ModelParallel<SplitRows>>, Relu, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Conversions<Written>> {};
