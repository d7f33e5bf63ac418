// refused: Embedding: token numbers come as the plan's numbers, which are whole up to 256 in bf16
// refused: Embedding<1000
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/layer/embedding.hpp>

struct Net : Sequential<Vector<5>, Embedding<1000, 8>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, Precision<bf16>> {};
