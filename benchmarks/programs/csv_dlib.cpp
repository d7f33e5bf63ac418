// programs/csv_dlib - the task of examples/12_own_csv.cpp with dlib: `csv_dlib iris.csv`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlib/dnn.h>
#include <dlib/statistics.h>
#include <cstdio>
#include <fstream>
using namespace dlib;

using Flower = matrix<float, 4, 1>;
using Net = loss_multiclass_log<fc<3, relu<fc<16, input<Flower>>>>>;

int main(int argc, char** argv) try {
  if (argc != 2) return std::fprintf(stderr, "usage: csv_dlib FILE.csv\n"), 2;
  std::vector<Flower> x;
  std::vector<unsigned long> y;
  std::vector<std::string> names;
  std::ifstream file(argv[1]);
  std::string line;
  std::getline(file, line);  // names of columns
  while (std::getline(file, line)) {
    auto const fields = split(line, ",");
    Flower one;
    for (int i = 0; i < 4; ++i) one(i) = string_cast<float>(fields.at(i));
    auto const name = std::find(names.begin(), names.end(), fields.at(4));
    x.push_back(one);
    y.push_back(static_cast<unsigned long>(name - names.begin()));
    if (name == names.end()) names.push_back(fields[4]);
  }
  randomize_samples(x, y);
  std::vector<Flower> test(x.begin() + x.size() * 4 / 5, x.end());
  std::vector<unsigned long> wanted(y.begin() + y.size() * 4 / 5, y.end());
  x.resize(x.size() * 4 / 5), y.resize(x.size());
  vector_normalizer<Flower> scale;
  scale.train(x);
  for (auto& flower : x) flower = scale(flower);

  Net net;
  dnn_trainer<Net, adam> trainer(net, adam(0, 0.9, 0.999));
  trainer.set_learning_rate(0.01);
  trainer.set_mini_batch_size(16);
  trainer.set_max_num_epochs(100);
  trainer.train(x, y);
  serialize("flowers.dat") << net << scale << names;

  deserialize("flowers.dat") >> net >> scale >> names;
  double right = 0;
  for (std::size_t i = 0; i < test.size(); ++i) right += net(scale(test[i])) == wanted[i];
  std::printf("accuracy of %zu samples: %.3f\n", test.size(), right / test.size());
  auto const& one = test[0];
  std::printf("%g, %g, %g, %g: %s\n", one(0), one(1), one(2), one(3), names[net(scale(one))].c_str());
} catch (std::exception const& e) {
  std::fprintf(stderr, "csv_dlib: %s\n", e.what());
  return 2;
}
