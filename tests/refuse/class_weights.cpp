// refused: every_output_has_a_class_weight<4, 3>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<8>, Linear<4>, WeightedCrossEntropy<100, 100, 450>> {};
struct Train : Plan<Net, Batch<16>> {};
