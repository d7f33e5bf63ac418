// refused: Zero<n>: gradients are summed as a whole
// refused: zero_sums_whole_gradients<true, true>
// refused: Embedding<11
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<4>, Embedding<11, 8>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync, Zero<1>>, Adam> {};
