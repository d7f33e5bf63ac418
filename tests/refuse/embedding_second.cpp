// refused: Embedding: it reads token numbers, which no layer makes; it stands first in a model
// refused: Embedding<1000
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/layer/embedding.hpp>

struct Net : Sequential<Vector<5>, Relu, Embedding<1000, 8>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
