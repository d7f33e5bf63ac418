// programs/multi_label_torch - the task of examples/16_multi_label.cpp with libtorch: `multi_label_torch x.npy y.npy`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <torch/torch.h>
#include <cmath>
#include <cstdio>
#include <filesystem>
namespace nn = torch::nn;

/// Rows of f32 numbers behind a header of 128 bytes, mapped.
torch::Tensor read_npy(char const* file, long columns) {
  long const numbers = static_cast<long>(std::filesystem::file_size(file) / 4);
  return torch::from_file(file, false, numbers, torch::kFloat).slice(0, 32).view({-1, columns});
}

struct Net : nn::Module {
  nn::Linear first{20, 64}, second{64, 5};
  torch::Tensor mean, deviation;
  Net(torch::Tensor const& x) {
    register_module("first", first), register_module("second", second);
    mean = register_buffer("mean", x.mean(0)), deviation = register_buffer("deviation", x.std(0));
  }
  torch::Tensor forward(torch::Tensor const& x) { return second(torch::relu(first((x - mean) / deviation))); }
};

int main(int argc, char** argv) try {
  if (argc != 3) return std::fprintf(stderr, "usage: multi_label_torch X.npy Y.npy\n"), 2;
  torch::manual_seed(1);
  auto const x = read_npy(argv[1], 20), y = read_npy(argv[2], 5);
  auto const parts = torch::randperm(x.size(0)).tensor_split(torch::tensor({x.size(0) * 4 / 5}));
  auto const test = x.index({parts[1]}), wanted = y.index({parts[1]});

  auto net = std::make_shared<Net>(x.index({parts[0]}));
  torch::optim::AdamW optimizer(net->parameters(), 0.005);
  double least = INFINITY;
  for (int epoch = 0, since = 0; epoch < 40 && since < 10; ++epoch) {
    optimizer.param_groups()[0].options().set_lr(0.0025 * (1 + std::cos(M_PI * epoch / 40)));
    for (auto const& batch : parts[0].index({torch::randperm(parts[0].size(0))}).split(64)) {
      optimizer.zero_grad();
      torch::binary_cross_entropy_with_logits(net->forward(x.index({batch})), y.index({batch})).backward();
      optimizer.step();
    }
    torch::NoGradGuard none;
    auto const loss = torch::binary_cross_entropy_with_logits(net->forward(test), wanted).item<double>();
    since = loss < least ? 0 : since + 1;
    if (since == 0) least = loss, torch::save(net, "songs.pt");
  }

  torch::load(net, "songs.pt");
  torch::NoGradGuard none;
  auto const said = net->forward(test).gt(0).to(torch::kFloat);
  auto const f1 = 2 * (said * wanted).sum(0) / (said + wanted).sum(0);
  std::printf("of %ld songs: accuracy %.3f, F1 %.3f\n", test.size(0),
              said.eq(wanted).to(torch::kFloat).mean().item<double>(), f1.mean().item<double>());
} catch (std::exception const& e) {
  std::fprintf(stderr, "multi_label_torch: %s\n", e.what());
  return 2;
}
