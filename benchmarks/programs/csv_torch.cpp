// programs/csv_torch - the task of examples/12_own_csv.cpp with libtorch: `csv_torch iris.csv`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <torch/torch.h>
#include <cstdio>
#include <fstream>
#include <sstream>
namespace nn = torch::nn;

struct Net : nn::Module {
  nn::Linear first{4, 16}, second{16, 3};
  torch::Tensor mean = register_buffer("mean", torch::zeros(4));
  torch::Tensor deviation = register_buffer("deviation", torch::ones(4));
  std::vector<std::string> names;
  Net() { register_module("first", first), register_module("second", second); }
  torch::Tensor forward(torch::Tensor const& x) { return second(torch::relu(first((x - mean) / deviation))); }
  void save(torch::serialize::OutputArchive& archive) const override {
    Module::save(archive);
    archive.write("names", c10::IValue(names));
  }
  void load(torch::serialize::InputArchive& archive) override {
    Module::load(archive);
    c10::IValue read;
    archive.read("names", read);
    names = read.to<std::vector<std::string>>();
  }
};

int main(int argc, char** argv) try {
  if (argc != 2) return std::fprintf(stderr, "usage: csv_torch FILE.csv\n"), 2;
  torch::manual_seed(1);
  auto net = std::make_shared<Net>();
  std::vector<float> numbers;
  std::vector<long> labels;
  std::ifstream file(argv[1]);
  std::string line, field;
  std::getline(file, line);  // names of columns
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    for (int i = 0; i < 4 && std::getline(fields, field, ','); ++i) numbers.push_back(std::stof(field));
    std::getline(fields, field);
    auto const name = std::find(net->names.begin(), net->names.end(), field);
    labels.push_back(name - net->names.begin());
    if (name == net->names.end()) net->names.push_back(field);
  }
  auto const x = torch::tensor(numbers).view({-1, 4}), y = torch::tensor(labels);
  auto const parts = torch::randperm(x.size(0)).tensor_split(torch::tensor({x.size(0) * 4 / 5}));
  auto const test = x.index({parts[1]}), wanted = y.index({parts[1]});

  net->mean.copy_(x.index({parts[0]}).mean(0)), net->deviation.copy_(x.index({parts[0]}).std(0));
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  for (int epoch = 0; epoch < 100; ++epoch)
    for (auto const& batch : parts[0].index({torch::randperm(parts[0].size(0))}).split(16)) {
      optimizer.zero_grad();
      torch::cross_entropy_loss(net->forward(x.index({batch})), y.index({batch})).backward();
      optimizer.step();
    }
  torch::save(net, "flowers.pt");

  auto predict = std::make_shared<Net>();
  torch::load(predict, "flowers.pt");
  torch::NoGradGuard none;
  auto const kinds = predict->forward(test).argmax(1);
  std::printf("accuracy of %ld samples: %.3f\n", test.size(0),
              kinds.eq(wanted).to(torch::kFloat).mean().item<double>());
  auto const* const one = test.data_ptr<float>();
  std::printf("%g, %g, %g, %g: %s\n", one[0], one[1], one[2], one[3], predict->names[kinds[0].item<long>()].c_str());
} catch (std::exception const& e) {
  std::fprintf(stderr, "csv_torch: %s\n", e.what());
  return 2;
}
