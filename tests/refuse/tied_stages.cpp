// refused: Tied: both layers have the same part of their weight on a rank
// refused: Linear<9, cleave::Tied>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

#include <cleave/layer/embedding.hpp>
#include <cleave/layer/per_position.hpp>

struct Net : Sequential<Vector<5>, Embedding<9, 8, Tied>, PerPosition<Linear<9, Tied>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<8>, ModelParallel<SplitLayers<2>>> {};
