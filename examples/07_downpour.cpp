// 07_downpour - replicas that step their own weights, push every five gradients and fetch every five; Adagrad at the server.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Mlp : Sequential<Image<1, 28, 28>, Linear<256>, Relu, Linear<10>, CrossEntropy> {};

struct Train : Plan<Mlp, Batch<32>, DataParallel<Downpour<5, 5>, WarmUp<20>>, Shards<4>, Adagrad> {
  static constexpr Rate rate = Rate::constant(0.01f);
  static constexpr int epochs = 2;
};

// The run ends with how old the gradients were, and what each replica has sent and waited.
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
