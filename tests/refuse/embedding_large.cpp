// refused: Embedding: data give token numbers as float, which are whole up to 16,777,216
// refused: Embedding<20000000
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/layer/embedding.hpp>

struct Net : Sequential<Vector<5>, Embedding<20'000'000, 8>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
