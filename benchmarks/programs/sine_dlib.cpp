// programs/sine_dlib - the task of examples/10_own_arrays.cpp with dlib.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlib/dnn.h>
#include <cmath>
#include <cstdio>
using namespace dlib;

using Number = matrix<float, 1, 1>;
using Net = loss_mean_squared<fc<1, htan<fc<32, input<Number>>>>>;

int main() {
  std::vector<Number> x, held_x;
  std::vector<float> y, held_y;
  for (int i = 0; i < 2000; ++i) {
    bool const held = i % 10 == 0;
    (held ? held_x : x).push_back({0.00314f * i});
    (held ? held_y : y).push_back(std::sin(0.00314f * i));
  }

  Net net;
  dnn_trainer<Net, adam> trainer(net, adam(0, 0.9, 0.999));
  trainer.set_learning_rate(0.01);
  trainer.set_iterations_without_progress_threshold(100000);  // the rate stays
  dlib::rand random;
  double best = INFINITY;
  int epochs = 0;
  for (int since = 0; epochs < 200 && since < 5; ++epochs) {
    randomize_samples(x, y, random);
    for (int i = 0; i < 1800; i += 32) {
      int const end = std::min(i + 32, 1800);
      trainer.train_one_step(x.begin() + i, x.begin() + end, y.begin() + i);
    }
    trainer.get_net();  // waits for the trainer's thread
    double const loss = net.compute_loss(held_x.begin(), held_x.end(), held_y.begin());
    since = loss < best ? 0 : since + 1;
    if (since == 0) best = loss, serialize("sine.dat") << net;
  }

  Net sine;
  deserialize("sine.dat") >> sine;
  std::printf("%d epochs, val_loss %.6f\n", epochs, best);
  std::printf("sine(0.5) = %.3f\n", sine(Number{0.5f}));
}
