// programs/sine_mlpack - the task of examples/10_own_arrays.cpp with mlpack.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MLPACK_ANN_IGNORE_SERIALIZATION_WARNING
#include <cstdio>
#include <mlpack.hpp>
using namespace mlpack;

CEREAL_REGISTER_TYPE(Linear<arma::mat>)
CEREAL_REGISTER_TYPE(TanH<arma::mat>)

int main() {
  arma::mat const x = 0.00314 * arma::regspace(0, 1999).t(), y = arma::sin(x);
  arma::mat used_x, used_y, held_x, held_y;
  Split(x, y, used_x, held_x, used_y, held_y, 0.1);

  FFN<MeanSquaredError, GlorotInitialization> net;
  net.Add<Linear>(32);
  net.Add<TanH>();
  net.Add<Linear>(1);
  double best = arma::datum::inf;
  int epochs = 0;
  auto const held_out = [&](arma::mat const&) {
    double const loss = net.Evaluate(held_x, held_y) / held_x.n_cols;
    if (loss < best) best = loss, Save("sine.bin", net);
    ++epochs;
    return loss;
  };
  ens::Adam adam(0.01, 32, 0.9, 0.999, 1e-8, 200 * used_x.n_cols, -1);
  net.Train(used_x, used_y, adam, ens::EarlyStopAtMinLoss(held_out, 5));

  FFN<MeanSquaredError, GlorotInitialization> sine;
  Load("sine.bin", sine, Fatal);
  arma::mat half;
  sine.Predict(arma::mat{0.5}, half);
  std::printf("%d epochs, val_loss %.6f\n", epochs, best);
  std::printf("sine(0.5) = %.3f\n", half(0));
}
