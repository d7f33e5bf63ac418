// refused: a sum never reduced: the layer is given a Partial sum; write AllReduce before it
// refused: Linear<10
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<64, NoBias, ModelParallel<SplitRows>>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Conversions<Written>> {};
