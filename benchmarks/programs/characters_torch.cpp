// programs/characters_torch - the task of examples/13_characters.cpp with libtorch: `characters_torch plays.txt`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <torch/torch.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
namespace nn = torch::nn;

constexpr int places = 24;  // characters that the next one follows from

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: characters_torch TEXT [EPOCHS]\n"), 2;
  torch::manual_seed(1);
  std::ifstream file(argv[1], std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  auto const bytes = torch::from_blob(text.data(), static_cast<long>(text.size()), torch::kByte).to(torch::kLong);
  auto const x = bytes.slice(0, 0, -1).unfold(0, places, 1), y = bytes.slice(0, places);
  long const used = x.size(0) * 95 / 100;  // the end of the text is held out
  auto const test = x.slice(0, used), wanted = y.slice(0, used);

  nn::Sequential net(nn::Embedding(256, 12), nn::Flatten(), nn::Linear(places * 12, 192), nn::ReLU(),
                     nn::Linear(192, 256));
  torch::optim::Adam optimizer(net->parameters());
  long const epochs = argc > 2 ? std::atol(argv[2]) : 2, steps = epochs * ((used + 127) / 128);
  for (long epoch = 1, step = 0; epoch <= epochs; ++epoch) {
    double sum = 0;
    for (auto const& batch : torch::randperm(used).split(128)) {
      double const rate = 0.0015 * (1 + std::cos(M_PI * static_cast<double>(step) / static_cast<double>(steps)));
      optimizer.param_groups()[0].options().set_lr(rate * std::min(1.0, static_cast<double>(++step) / 100));
      optimizer.zero_grad();
      auto const loss = torch::cross_entropy_loss(net->forward(x.index({batch})), y.index({batch}));
      loss.backward();
      optimizer.step();
      sum += loss.item<double>() * static_cast<double>(batch.size(0));
    }
    torch::NoGradGuard none;
    std::printf("epoch %ld: loss %.3f, held out %.3f\n", epoch, sum / static_cast<double>(used),
                torch::cross_entropy_loss(net->forward(test), wanted).item<double>());
  }

  torch::NoGradGuard none;
  auto written = std::string("to be, or not to be: that");
  for (int i = 0; i < 200; ++i) {
    auto* const last = written.data() + written.size() - places;
    auto const next = net->forward(torch::from_blob(last, {1, places}, torch::kByte).to(torch::kLong));
    written += static_cast<char>(torch::softmax(next, 1).multinomial(1).item<long>());
  }
  std::printf("%s\n", written.c_str());
} catch (std::exception const& e) {
  std::fprintf(stderr, "characters_torch: %s\n", e.what());
  return 2;
}
