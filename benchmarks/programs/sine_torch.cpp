// programs/sine_torch - the task of examples/10_own_arrays.cpp with libtorch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <torch/torch.h>
#include <cmath>
#include <cstdio>
namespace nn = torch::nn;

nn::Sequential make_net() { return nn::Sequential(nn::Linear(1, 32), nn::Tanh(), nn::Linear(32, 1)); }

int main() {
  torch::manual_seed(1);
  auto const x = torch::arange(2000).to(torch::kFloat).mul(0.00314f).view({2000, 1}), y = torch::sin(x);
  auto const order = torch::randperm(2000), held = order.slice(0, 0, 200), used = order.slice(0, 200);
  auto net = make_net();
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  double best = INFINITY;
  int since = 0, epochs = 0;
  for (; epochs < 200 && since < 5; ++epochs) {
    for (auto const& batch : used.index({torch::randperm(1800)}).split(32)) {
      optimizer.zero_grad();
      torch::mse_loss(net->forward(x.index({batch})), y.index({batch})).backward();
      optimizer.step();
    }
    torch::NoGradGuard none;
    auto const loss = torch::mse_loss(net->forward(x.index({held})), y.index({held})).item<double>();
    since = loss < best ? 0 : since + 1;
    if (since == 0) best = loss, torch::save(net, "sine.pt");
  }

  auto sine = make_net();
  torch::load(sine, "sine.pt");
  torch::NoGradGuard none;
  std::printf("%d epochs, val_loss %.6f\n", epochs, best);
  std::printf("sine(0.5) = %.3f\n", sine->forward(torch::full({1, 1}, 0.5f)).item<double>());
}
