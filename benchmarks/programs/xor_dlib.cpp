// programs/xor_dlib - XOR, the smallest program of docs/own_program.md, with dlib.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlib/dnn.h>
#include <cmath>
#include <cstdio>
using namespace dlib;

using Pair = matrix<float, 2, 1>;
using Net = loss_binary_log<fc<1, htan<fc<8, input<Pair>>>>>;

int main() {
  std::vector<Pair> const x{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  std::vector<float> const y{-1, 1, 1, -1};
  Net net;
  dnn_trainer<Net, adam> trainer(net, adam(0, 0.9, 0.999));
  trainer.set_learning_rate(0.05);
  trainer.set_mini_batch_size(4);
  trainer.set_max_num_epochs(500);
  trainer.train(x, y);
  for (float score : net(x)) std::printf("%.3f\n", 1 / (1 + std::exp(-score)));
}
