// programs/own_loop_mlpack - the task of examples/11_own_loop.cpp with mlpack.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MLPACK_ANN_IGNORE_SERIALIZATION_WARNING
#include <cmath>
#include <iostream>
#include <mlpack.hpp>
using namespace mlpack;

CEREAL_REGISTER_TYPE(Linear<arma::mat>)
CEREAL_REGISTER_TYPE(ReLU<arma::mat>)
CEREAL_REGISTER_TYPE(LogSoftMax<arma::mat>)

int main() {
  arma::mat points(2, 3000), arms(1, 3000);
  for (int i = 0; i < 3000; ++i) {
    double const r = std::fmod(i * 0.618034, 1), angle = 5 * r + i % 3 * 2.0944;
    points.col(i) = arma::vec{r * std::sin(angle), r * std::cos(angle)};
    arms(i) = i % 3;
  }
  arma::mat const x = points.head_cols(2500), y = arms.head_cols(2500);
  arma::mat const test = points.tail_cols(500), wanted = arms.tail_cols(500);

  FFN<NegativeLogLikelihood, GlorotInitialization> net;
  net.Add<Linear>(32);
  net.Add<ReLU>();
  net.Add<Linear>(32);
  net.Add<ReLU>();
  net.Add<Linear>(3);
  net.Add<LogSoftMax>();
  ens::Adam adam(0.01, 50, 0.9, 0.999, 1e-8, 2500, -1);  // 2500 samples: an epoch for each call of Train
  adam.ResetPolicy() = false;
  double least = arma::datum::inf;
  for (int epoch = 0, since = 0; epoch < 100 && since < 3; ++epoch) {
    net.Train(x, y, adam);
    double const loss = net.Evaluate(test, wanted) / 500;
    since = loss < least ? 0 : since + 1;
    if (since == 0) least = loss, Save("spiral.bin", net);
  }

  FFN<NegativeLogLikelihood, GlorotInitialization> predict;
  Load("spiral.bin", predict, Fatal);
  arma::mat p, counts;
  predict.Predict(test, p);
  ConfusionMatrix(arma::conv_to<arma::Row<size_t>>::from(arma::index_max(p)),
                  arma::conv_to<arma::Row<size_t>>::from(wanted), counts, 3);
  std::printf("loss %.4f, accuracy %.3f\n", least, arma::trace(counts) / 500);
  std::cout << counts.t();  // a row for each class
}
