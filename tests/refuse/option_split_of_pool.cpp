// refused: the layer does not take this option. Linear takes NoBias, Glorot
// refused: ModelParallel<cleave::SplitCols
// refused: AvgPool<2, cleave::ModelParallel
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Image<3, 8, 8>, AvgPool<2, ModelParallel<SplitCols>>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
