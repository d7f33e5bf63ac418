// refused: Compress: this plan sends no gradients; say DataParallel, or leave Compress out
// refused: what_is_compressed_is_sent<true, false>
// refused: Compress<cleave::Int8
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/send/int8.hpp>

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitCols>, Compress<Int8>, Fastest> {};
