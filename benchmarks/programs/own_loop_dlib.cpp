// programs/own_loop_dlib - the task of examples/11_own_loop.cpp with dlib.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlib/dnn.h>
#include <cmath>
#include <iostream>
using namespace dlib;

using Point = matrix<float, 2, 1>;
using Net = loss_multiclass_log<fc<3, relu<fc<32, relu<fc<32, input<Point>>>>>>>;

int main() {
  std::vector<Point> x, test;
  std::vector<unsigned long> y, wanted;
  for (int i = 0; i < 3000; ++i) {
    double const r = std::fmod(i * 0.618034, 1), angle = 5 * r + i % 3 * 2.0944;
    (i < 2500 ? x : test).push_back({static_cast<float>(r * std::sin(angle)), static_cast<float>(r * std::cos(angle))});
    (i < 2500 ? y : wanted).push_back(static_cast<unsigned long>(i % 3));
  }

  Net net;
  dnn_trainer<Net, adam> trainer(net, adam(0, 0.9, 0.999));
  trainer.set_learning_rate(0.01);
  trainer.set_iterations_without_progress_threshold(100000);  // the rate stays
  dlib::rand random;
  double least = INFINITY;
  for (int epoch = 0, since = 0; epoch < 100 && since < 3; ++epoch) {
    randomize_samples(x, y, random);
    for (int i = 0; i < 2500; i += 50) trainer.train_one_step(x.begin() + i, x.begin() + i + 50, y.begin() + i);
    trainer.get_net();  // waits for the trainer's thread
    double const loss = net.compute_loss(test.begin(), test.end(), wanted.begin());
    since = loss < least ? 0 : since + 1;
    if (since == 0) least = loss, serialize("spiral.dat") << net;
  }

  Net predict;
  deserialize("spiral.dat") >> predict;
  auto const arms = predict(test);
  matrix<int> counts = zeros_matrix<int>(3, 3);
  for (std::size_t i = 0; i < test.size(); ++i) ++counts(wanted[i], arms[i]);
  std::printf("loss %.4f, accuracy %.3f\n", least, static_cast<double>(trace(counts)) / test.size());
  std::cout << counts;
}
