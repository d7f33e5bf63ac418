// refused: Sequential: after the input come layers
// refused: every_part_of_a_model_is_a_layer
// refused: Batch<64>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Net : Sequential<Vector<512>, Linear<10>, Residual<Batch<64>>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {};
