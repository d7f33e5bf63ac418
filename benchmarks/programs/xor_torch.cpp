// programs/xor_torch - XOR, the smallest program of docs/own_program.md, with libtorch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <torch/torch.h>
#include <cstdio>
namespace nn = torch::nn;

int main() {
  torch::manual_seed(1);
  auto const x = torch::tensor({0.f, 0.f, 0.f, 1.f, 1.f, 0.f, 1.f, 1.f}).view({4, 2});
  auto const y = torch::tensor({0.f, 1.f, 1.f, 0.f}).view({4, 1});
  nn::Sequential net(nn::Linear(2, 8), nn::Tanh(), nn::Linear(8, 1));
  torch::optim::Adam optimizer(net->parameters(), 0.05);
  for (int epoch = 0; epoch < 500; ++epoch) {
    optimizer.zero_grad();
    torch::binary_cross_entropy_with_logits(net->forward(x), y).backward();
    optimizer.step();
  }
  auto const p = torch::sigmoid(net->forward(x));
  for (int i = 0; i < 4; ++i) std::printf("%.3f\n", p[i].item<double>());
}
