// refused: this number format has too few digits for token numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

using In = Inputs<Vector<8>, Vector<4>>;
struct Net
    : Sequential<In,
                 Branches<Concat, Path<In::at<0>, Embedding<500, 8, OfNumbers>, MeanOverPositions>, Path<In::at<1>>>,
                 Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Precision<bf16>> {};
