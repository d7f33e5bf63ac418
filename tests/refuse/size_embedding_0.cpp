// refused: Embedding<tokens, features>: both are whole numbers from 1
// refused: embedding_sizes_are_positive<100, 0, 0>
// refused: Embedding<100, 0>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<5>, Embedding<100, 0>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
