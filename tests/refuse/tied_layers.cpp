// refused: Tied: one Embedding<vocabulary, features, Tied> and one Linear<vocabulary, Tied>
// refused: Linear<9, cleave::Tied>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/layer/embedding.hpp>
#include <cleave/layer/per_position.hpp>

struct Net : Sequential<Vector<5>, Embedding<9, 8>, PerPosition<Linear<9, Tied>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>> {};
