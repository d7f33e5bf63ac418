// refused: of WeightedBinaryCrossEntropy<w...>: one, or one for each label
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<8>, Linear<4>, WeightedBinaryCrossEntropy<100, 100, 450>> {};
struct Train : Plan<Net, Batch<16>> {};
