// 07_downpour - replicas update local weights, push and fetch every five gradients; the server uses Adagrad.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Mlp : Sequential<Image<1, 28, 28>, Linear<256>, Relu, Linear<10>, CrossEntropy> {};

struct Train : Plan<Mlp, Batch<32>, DataParallel<Downpour<5, 5>, WarmUp<20>>, Shards<4>, Adagrad> {
  static constexpr Rate rate = Rate::constant(0.01f);
  static constexpr int epochs = 2;
};

// The run ends with the ages of the gradients, and the traffic and waiting time of each replica.
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
