// programs/characters_mlpack - the task of examples/13_characters.cpp with mlpack: `characters_mlpack plays.txt`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <mlpack.hpp>
#include <random>
using namespace mlpack;

constexpr arma::uword places = 24;  // characters that the next one follows from
using Net = FFN<NegativeLogLikelihood, GlorotInitialization>;

/// A callback of the optimizer: its rate, and a line for each epoch.
struct Course {
  Net& net;
  arma::mat const &test, &wanted;
  double steps;
  double step = 0;
  template <class Optimizer, class Function> void StepTaken(Optimizer& optimizer, Function&, arma::mat const&) {
    double const rate = 0.0015 * (1 + std::cos(arma::datum::pi * ++step / steps));
    optimizer.StepSize() = rate * std::min(1.0, (step + 1) / 100);
  }
  template <class Optimizer, class Function>
  void EndEpoch(Optimizer&, Function&, arma::mat const&, size_t epoch, double loss) {
    std::printf("epoch %zu: loss %.3f, held out %.3f\n", epoch, loss, net.Evaluate(test, wanted) / test.n_cols);
  }
};

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: characters_mlpack TEXT [EPOCHS]\n"), 2;
  std::ifstream file(argv[1], std::ios::binary);
  std::vector<unsigned char> const text{std::istreambuf_iterator<char>(file), {}};
  arma::mat x(places, text.size() - places), y(1, x.n_cols);
  for (arma::uword i = 0; i < x.n_cols; ++i) {
    std::copy_n(text.begin() + i, places, x.begin_col(i));
    y(i) = text[i + places];
  }
  arma::uword const used = x.n_cols * 95 / 100;  // the end of the text is held out
  arma::mat const test = x.tail_cols(x.n_cols - used), wanted = y.tail_cols(y.n_cols - used);

  Net net;
  net.Add<Embedding>(256, 12);
  net.Add<Linear>(192);
  net.Add<ReLU>();
  net.Add<Linear>(256);
  net.Add<LogSoftMax>();
  net.Reset(places);
  net.Parameters().head_rows(256 * 12).randn();  // the embedding; larger than by Glorot's rule
  arma::uword const epochs = argc > 2 ? std::atoi(argv[2]) : 2;
  ens::Adam adam(0.00003, 128, 0.9, 0.999, 1e-8, epochs * used, -1);
  net.Train(x.head_cols(used), y.head_cols(used), adam, Course{net, test, wanted, epochs * std::ceil(used / 128.0)});

  std::mt19937 random(1);
  std::string written = "to be, or not to be: that";
  for (int i = 0; i < 200; ++i) {
    arma::mat last(places, 1), p;
    std::copy_n(written.end() - places, places, last.begin());
    net.Predict(last, p);
    p = arma::exp(p);
    written += static_cast<char>(std::discrete_distribution<int>(p.begin(), p.end())(random));
  }
  std::printf("%s\n", written.c_str());
} catch (std::exception const& e) {
  std::fprintf(stderr, "characters_mlpack: %s\n", e.what());
  return 2;
}
