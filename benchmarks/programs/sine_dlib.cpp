// programs/sine_dlib - the task of examples/10_own_arrays.cpp with dlib.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlib/dnn.h>
#include <cmath>
#include <cstdio>
using namespace dlib;

using Net = loss_mean_squared<fc<1, htan<fc<32, input<matrix<float>>>>>>;

int main() {
  std::vector<matrix<float>> x, held_x;
  std::vector<float> y, held_y;
  for (int i = 0; i < 2000; ++i) {
    matrix<float> one(1, 1);
    one(0) = 0.00314f * i;
    bool const held = i % 10 == 0;
    (held ? held_x : x).push_back(one);
    (held ? held_y : y).push_back(std::sin(one(0)));
  }
  Net net;
  dnn_trainer<Net, adam> trainer(net, adam(0, 0.9, 0.999));
  trainer.set_learning_rate(0.01);
  trainer.set_min_learning_rate(0.005);
  trainer.set_mini_batch_size(32);
  trainer.set_max_num_epochs(200);
  trainer.set_iterations_without_progress_threshold(100000);
  trainer.train(x, y);
  trainer.get_net();
  serialize("sine.dat") << net;

  Net sine;
  deserialize("sine.dat") >> sine;
  double loss = 0;
  for (std::size_t i = 0; i < held_x.size(); ++i) loss += std::pow(sine(held_x[i]) - held_y[i], 2) / held_x.size();
  matrix<float> half(1, 1);
  half(0) = 0.5f;
  std::printf("val_loss %.6f\n", loss);
  std::printf("sine(0.5) = %.3f\n", sine(half));
}
