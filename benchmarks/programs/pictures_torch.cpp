// programs/pictures_torch - the task of examples/14_pictures.cpp with libtorch and stb: `pictures_torch pets`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <torch/torch.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
namespace fs = std::filesystem;
namespace nn = torch::nn;

torch::Tensor read_picture(std::string const& file) {
  int height = 0, width = 0, channels = 0;
  std::unique_ptr<stbi_uc, void (*)(void*)> bytes(stbi_load(file.c_str(), &width, &height, &channels, 3),
                                                  stbi_image_free);
  if (!bytes) throw std::runtime_error(file + ": " + stbi_failure_reason());
  auto const rows = torch::from_blob(bytes.get(), {1, height, width, 3}, torch::kByte).to(torch::kFloat) / 255;
  return torch::upsample_bilinear2d(rows.permute({0, 3, 1, 2}), {32, 32}, false)[0];
}

torch::Tensor augmented(torch::Tensor const& x) {
  auto const wide = torch::constant_pad_nd(x * torch::empty({x.size(0), 1, 1, 1}).uniform_(0.8, 1.2), {3, 3, 3, 3});
  std::vector<torch::Tensor> all;
  for (long i = 0; i < x.size(0); ++i) {
    auto const at = torch::randint(7, {2});
    auto const one = wide[i].narrow(1, at[0].item<long>(), 32).narrow(2, at[1].item<long>(), 32);
    all.push_back(torch::rand({}).item<float>() < 0.5f ? one.flip(2) : one);
  }
  return torch::stack(all);
}

struct Net : nn::Module {
  nn::Sequential layers{nn::Conv2d(nn::Conv2dOptions(3, 16, 3).padding(1)),
                        nn::ReLU(),
                        nn::MaxPool2d(2),
                        nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)),
                        nn::ReLU(),
                        nn::MaxPool2d(2),
                        nn::Flatten(),
                        nn::Linear(32 * 8 * 8, 64),
                        nn::ReLU(),
                        nn::Linear(64, 2)};
  torch::Tensor mean, deviation;
  Net(torch::Tensor const& x) {
    register_module("layers", layers);
    mean = register_buffer("mean", x.mean({0, 2, 3}, true)),
    deviation = register_buffer("deviation", x.std({0, 2, 3}, true, true));
  }
  torch::Tensor forward(torch::Tensor const& x) { return layers->forward((x - mean) / deviation); }
};

int main(int argc, char** argv) try {
  if (argc != 2)
    return std::fprintf(stderr, "usage: pictures_torch FOLDER, with a folder of pictures for each class\n"), 2;
  torch::manual_seed(1);
  std::vector<fs::path> folders;
  for (auto const& folder : fs::directory_iterator(argv[1])) folders.push_back(folder);
  std::sort(folders.begin(), folders.end());
  std::vector<torch::Tensor> pictures;
  std::vector<long> labels;
  for (std::size_t label = 0; label < folders.size(); ++label)
    for (auto const& file : fs::directory_iterator(folders[label]))
      pictures.push_back(read_picture(file.path())), labels.push_back(static_cast<long>(label));
  auto const x = torch::stack(pictures), y = torch::tensor(labels);
  auto const parts = torch::randperm(x.size(0)).tensor_split(torch::tensor({x.size(0) * 4 / 5}));
  auto const test = x.index({parts[1]}), wanted = y.index({parts[1]});

  auto net = std::make_shared<Net>(x.index({parts[0]}));
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.02).momentum(0.9));
  double least = INFINITY;
  int epoch = 0;
  for (int since = 0; epoch < 20 && since < 8; ++epoch) {
    optimizer.param_groups()[0].options().set_lr(0.01 * (1 + std::cos(M_PI * epoch / 20)));
    for (auto const& batch : parts[0].index({torch::randperm(parts[0].size(0))}).split(32)) {
      optimizer.zero_grad();
      torch::cross_entropy_loss(net->forward(augmented(x.index({batch}))), y.index({batch})).backward();
      optimizer.step();
    }
    torch::NoGradGuard none;
    auto const loss = torch::cross_entropy_loss(net->forward(test), wanted).item<double>();
    since = loss < least ? 0 : since + 1;
    if (since == 0) least = loss, torch::save(net, "pets.pt");
  }

  torch::load(net, "pets.pt");
  torch::NoGradGuard none;
  auto const kinds = net->forward(test).argmax(1);
  std::printf("%d epochs, accuracy %.3f\n", epoch, kinds.eq(wanted).to(torch::kFloat).mean().item<double>());
  std::cout << torch::bincount(2 * wanted + kinds, {}, 4).view({2, 2}) << '\n';
} catch (std::exception const& e) {
  std::fprintf(stderr, "pictures_torch: %s\n", e.what());
  return 2;
}
