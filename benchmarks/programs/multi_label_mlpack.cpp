// programs/multi_label_mlpack - the task of examples/16_multi_label.cpp with mlpack: `multi_label_mlpack x.npy y.npy`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MLPACK_ANN_IGNORE_SERIALIZATION_WARNING
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mlpack.hpp>
using namespace mlpack;

CEREAL_REGISTER_TYPE(Linear<arma::mat>)
CEREAL_REGISTER_TYPE(ReLU<arma::mat>)
CEREAL_REGISTER_TYPE(Sigmoid<arma::mat>)

/// Rows of f32 numbers behind a header of 128 bytes, a column for each.
arma::mat read_npy(char const* name, arma::uword rows) {
  arma::fmat numbers(rows, (std::filesystem::file_size(name) - 128) / 4 / rows);
  std::ifstream file(name, std::ios::binary);
  file.ignore(128).read(reinterpret_cast<char*>(numbers.memptr()), static_cast<long>(numbers.n_elem * 4));
  return arma::conv_to<arma::mat>::from(numbers);
}

struct Model {
  FFN<BCELoss, GlorotInitialization> net;
  StandardScaler scale;
  template <class Archive> void serialize(Archive& archive, uint32_t) { archive(CEREAL_NVP(net), CEREAL_NVP(scale)); }
};

int main(int argc, char** argv) try {
  if (argc != 3) return std::fprintf(stderr, "usage: multi_label_mlpack X.npy Y.npy\n"), 2;
  arma::mat x, y, test, wanted, said;
  Split(read_npy(argv[1], 20), read_npy(argv[2], 5), x, test, y, wanted, 0.2);

  Model songs;
  songs.scale.Fit(x);
  songs.scale.Transform(arma::mat(x), x);
  songs.scale.Transform(arma::mat(test), test);
  songs.net.Add<Linear>(64);
  songs.net.Add<ReLU>();
  songs.net.Add<Linear>(5);
  songs.net.Add<Sigmoid>();
  ens::Adam adam(0.005, 64, 0.9, 0.999, 1e-8, x.n_cols, -1);  // an epoch for each call of Train
  adam.ResetPolicy() = false;
  double least = arma::datum::inf;
  for (int epoch = 0, since = 0; epoch < 40 && since < 10; ++epoch) {
    adam.StepSize() = 0.0025 * (1 + std::cos(arma::datum::pi * epoch / 40));
    songs.net.Train(x, y, adam);
    double const loss = songs.net.Evaluate(test, wanted);
    since = loss < least ? 0 : since + 1;
    if (since == 0) least = loss, Save("songs.bin", songs);
  }

  Load("songs.bin", songs, Fatal);
  songs.net.Predict(test, said);
  said = arma::round(said);
  arma::vec const f1 = 2 * arma::sum(said % wanted, 1) / arma::sum(said + wanted, 1);
  std::printf("of %zu songs: accuracy %.3f, F1 %.3f\n", size_t(test.n_cols),
              1 - arma::accu(arma::abs(said - wanted)) / said.n_elem, arma::mean(f1));
} catch (std::exception const& e) {
  std::fprintf(stderr, "multi_label_mlpack: %s\n", e.what());
  return 2;
}
