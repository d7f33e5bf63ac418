// programs/sine_torch - the task of examples/10_own_arrays.cpp with libtorch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <torch/torch.h>
#include <cmath>
#include <cstdio>

struct Net : torch::nn::Module {
  torch::nn::Linear first{1, 32}, second{32, 1};
  Net() { register_module("first", first), register_module("second", second); }
  torch::Tensor forward(torch::Tensor x) { return second(torch::tanh(first(x))); }
};

int main() {
  torch::manual_seed(1);
  auto x = torch::arange(2000).to(torch::kFloat).mul(0.00314f).view({2000, 1}), y = torch::sin(x);
  auto order = torch::randperm(2000), held = order.slice(0, 0, 200), used = order.slice(0, 200);
  auto net = std::make_shared<Net>();
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(0.01));
  double best = 1e9;
  int since = 0, epochs = 0;
  for (; epochs < 200 && since < 5; ++epochs) {
    auto now = used.index({torch::randperm(1800)});
    for (int i = 0; i + 32 <= 1800; i += 32) {
      auto batch = now.slice(0, i, i + 32);
      optimizer.zero_grad();
      torch::mse_loss(net->forward(x.index({batch})), y.index({batch})).backward();
      optimizer.step();
    }
    torch::NoGradGuard none;
    double loss = torch::mse_loss(net->forward(x.index({held})), y.index({held})).item<double>();
    since = loss < best ? 0 : since + 1;
    if (since == 0) best = loss, torch::save(net, "sine.pt");
  }
  auto sine = std::make_shared<Net>();
  torch::load(sine, "sine.pt");
  torch::NoGradGuard none;
  std::printf("%d epochs, val_loss %.6f\n", epochs, best);
  std::printf("sine(0.5) = %.3f\n", sine->forward(torch::full({1, 1}, 0.5f)).item<double>());
}
