// refused: Compress: this plan sends no gradients; say DataParallel, or leave Compress out
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/int8.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitCols>, Compress<Int8>, Fastest> {};
