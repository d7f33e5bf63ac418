// programs/weights_torch - weights of a PyTorch model, as in docs/own_program.md, with libtorch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <torch/torch.h>
#include <cstdio>
#include <fstream>
#include <iterator>
namespace nn = torch::nn;

// There: nn.Sequential(OrderedDict(fc1=nn.Linear(784, 128), relu=nn.ReLU(), fc2=nn.Linear(128, 10))), saved by
// torch.save(dict(model.state_dict()), "mlp.pt")
int main() try {
  nn::Sequential net({{"fc1", nn::Linear(784, 128)}, {"relu", nn::ReLU()}, {"fc2", nn::Linear(128, 10)}});
  std::ifstream file("mlp.pt", std::ios::binary);
  auto const weights = torch::pickle_load({std::istreambuf_iterator<char>(file), {}}).toGenericDict();
  torch::NoGradGuard none;
  for (auto& weight : net->named_parameters()) weight.value().copy_(weights.at(weight.key()).toTensor());
  std::printf("class %ld\n", net->forward(torch::zeros({1, 784})).argmax().item<long>());
} catch (std::exception const& e) {
  std::puts(e.what());
}
