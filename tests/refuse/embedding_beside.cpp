// refused: Embedding: its model's input is token numbers, and another layer computes with them
// refused: Embedding<50
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/layer/embedding.hpp>

struct Net : Sequential<Vector<5>, Branches<Concat, Path<Embedding<50, 1>, Linear<5>>, Path<Linear<5>>>, Linear<10>,
                        CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
