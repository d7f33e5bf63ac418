// refused: Tied: Linear has as many outputs as the Embedding has tokens, and reads as many positions
// refused: Linear<10, cleave::Tied>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/layer/embedding.hpp>
#include <cleave/layer/per_position.hpp>

struct Net : Sequential<Vector<5>, Embedding<9, 8, Tied>, PerPosition<Linear<10, Tied>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>> {};
