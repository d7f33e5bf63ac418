// 04_one_weird_trick - convolutions split the batch, dense layers split their weights, over the same four ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct CifarNet : Sequential<Image<3, 32, 32>,                                          //
                             Conv<64, 5, Pad<2>>, Relu, MaxPool<3, Stride<2>, Pad<1>>,  // batch / 4 on each rank
                             Conv<64, 5, Pad<2>>, Relu, MaxPool<3, Stride<2>, Pad<1>>,  //
                             Linear<384>, Relu, Linear<192>, Relu,                      // columns, then rows
                             Linear<10, ModelParallel<Whole>>, CrossEntropy> {};

struct Train : Plan<CifarNet, Batch<128>, OneWeirdTrick<4>, MicroBatches<4>, Momentum> {
  static constexpr Rate rate = Rate::cosine(0.02f).warm_up(40);
  static constexpr int epochs = 4;
};
static_assert(fits<Train, 256_MiB>);

int main(int argc, char** argv) { return run<Train, Cifar10>(argc, argv); }
