// refused: an earlier layer says which of the positions are padding
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

using In = Inputs<Vector<6>, Vector<6>>;
struct Net
    : Sequential<In,
                 Branches<Concat, Path<In::at<0>, Embedding<20, 4, OfNumbers, PadToken<0>>, MeanOverValidPositions>,
                          Path<In::at<1>, Embedding<20, 4, OfNumbers>, MeanOverValidPositions>>,
                 Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
