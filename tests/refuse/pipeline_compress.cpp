// refused: leave Compress, ReduceBy, InputGradient and Inference out
// refused: stages_sum_plain_gradients<true, true>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<64>, Linear<32>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>, Fastest, Compress<bf16>, ModelParallel<SplitLayers<2>>> {};
