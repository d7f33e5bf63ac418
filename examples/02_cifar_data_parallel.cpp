// 02_cifar_data_parallel - the convolutional net of the examples on CIFAR-10: each replica takes a share of the batch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct CifarNet : Sequential<Image<3, 32, 32>,                                          // shapes are inferred
                             Conv<64, 5, Pad<2>>, Relu, MaxPool<3, Stride<2>, Pad<1>>,  // (b, 64, 16, 16)
                             Conv<64, 5, Pad<2>>, Relu, MaxPool<3, Stride<2>, Pad<1>>,  // (b, 64, 8, 8)
                             Linear<384>, Relu, Linear<192>, Relu, Linear<10>, CrossEntropy> {};

struct Train : Plan<CifarNet, Batch<128>, DataParallel<Sync>, Momentum> {
  static constexpr Rate rate = Rate::cosine(0.02f).warm_up(200);
  static constexpr int epochs = 7;
};

int main(int argc, char** argv) { return run<Train, Cifar10>(argc, argv); }
