// refused: a replica has the values of its own samples only
// refused: replicas_exchange_no_samples
// refused: Centre
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "refuse.hpp"

struct MinusMean : op::Base {
  static constexpr auto name = "minus_mean";
  static constexpr auto equation = "B*->B*";  // an upper-case letter: whole on every rank
  static constexpr Shape output(Shape x) { return x; }
};
struct Centre : layer::Chain<MinusMean> {};
struct Net : Sequential<Vector<8>, Linear<4>, Centre, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>> {};
