// programs/own_loop_torch - the task of examples/11_own_loop.cpp with libtorch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <torch/torch.h>
#include <cmath>
#include <iostream>
namespace nn = torch::nn;

nn::Sequential make_net() {
  return nn::Sequential(nn::Linear(2, 32), nn::ReLU(), nn::Linear(32, 32), nn::ReLU(), nn::Linear(32, 3));
}

int main() {
  torch::manual_seed(1);
  auto const i = torch::arange(3000), r = (i.to(torch::kDouble) * 0.618034).fmod(1), angle = 5 * r + i % 3 * 2.0944;
  auto const x = torch::stack({r * torch::sin(angle), r * torch::cos(angle)}, 1).to(torch::kFloat), y = i % 3;
  auto const test = x.slice(0, 2500), wanted = y.slice(0, 2500);

  auto net = make_net();
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  double least = INFINITY;
  for (int epoch = 0, since = 0; epoch < 100 && since < 3; ++epoch) {
    for (auto const& batch : torch::randperm(2500).split(50)) {
      optimizer.zero_grad();
      torch::cross_entropy_loss(net->forward(x.index({batch})), y.index({batch})).backward();
      optimizer.step();
    }
    torch::NoGradGuard none;
    auto const loss = torch::cross_entropy_loss(net->forward(test), wanted).item<double>();
    since = loss < least ? 0 : since + 1;
    if (since == 0) least = loss, torch::save(net, "spiral.pt");
  }

  auto predict = make_net();
  torch::load(predict, "spiral.pt");
  torch::NoGradGuard none;
  auto const arms = predict->forward(test).argmax(1);
  std::printf("loss %.4f, accuracy %.3f\n", least, arms.eq(wanted).to(torch::kFloat).mean().item<double>());
  std::cout << torch::bincount(3 * wanted + arms, {}, 9).view({3, 3}) << '\n';
}
