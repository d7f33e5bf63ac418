// refused: a model ends in one loss
// refused: a_model_ends_in_its_one_loss
// refused: 0, 0
// refused: Linear<10>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>> {};
struct Train : Plan<Net, Batch<8>> {};
