// refused: LossScale: the state of the loss is the factor; this loss keeps another
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct Counting : op::SoftmaxCrossEntropy {
  static constexpr int states = 1;
  static constexpr Shape state(Shape) { return Shape(1); }
};
struct CountingLoss : layer::Chain<Counting> {};
struct Net : Sequential<Vector<512>, Linear<10>, CountingLoss> {};
struct Train : Plan<Net, Batch<8>, LossScale<>> {};
