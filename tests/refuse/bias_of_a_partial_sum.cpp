// refused: a non-linear layer on a Partial sum
// refused: Linear<64, cleave::ModelParallel
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64, ModelParallel<SplitRows>>, Relu, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Conversions<Written>> {};
