// programs/xor_mlpack - XOR, the smallest program of docs/own_program.md, with mlpack.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <mlpack.hpp>
using namespace mlpack;

int main() {
  arma::mat const x{{0, 0, 1, 1}, {0, 1, 0, 1}}, y{{0, 1, 1, 0}};
  FFN<BCELoss, GlorotInitialization> net;
  net.Add<Linear>(8);
  net.Add<TanH>();
  net.Add<Linear>(1);
  net.Add<Sigmoid>();
  ens::Adam adam(0.05, 4, 0.9, 0.999, 1e-8, 500 * 4, -1);
  net.Train(x, y, adam);
  arma::mat p;
  net.Predict(x, p);
  for (double one : p) std::printf("%.3f\n", one);
}
