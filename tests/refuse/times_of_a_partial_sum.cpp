// refused: a non-linear layer on a Partial sum: f(a + b) is not f(a) + f(b)
// refused: Join<
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

using Factor = Linear<512, NoBias, ModelParallel<SplitRows>>;
struct Net : Sequential<Vector<512>, Branches<Times, Path<Tanh>, Path<Factor>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Conversions<Written>> {};
