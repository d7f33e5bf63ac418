// 01_mnist_mlp - a small dense network on MNIST, data-parallel over as many threads as --ranks says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Mlp : Sequential<Image<1, 28, 28>, Linear<512>, Relu, Linear<512>, Relu, Linear<10>, CrossEntropy> {};

struct Train : Plan<Mlp, Batch<64>, DataParallel<Sync>, Momentum> {
  static constexpr Rate rate = Rate::cosine(0.05f).warm_up(50);
  static constexpr int epochs = 8;
};
static_assert(fits<Train, 64_MiB>);

int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
