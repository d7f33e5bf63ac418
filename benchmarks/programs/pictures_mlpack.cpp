// programs/pictures_mlpack - the task of examples/14_pictures.cpp with mlpack: `pictures_mlpack pets`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MLPACK_ANN_IGNORE_SERIALIZATION_WARNING
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <mlpack.hpp>
using namespace mlpack;
namespace fs = std::filesystem;

CEREAL_REGISTER_TYPE(Convolution<arma::mat>)
CEREAL_REGISTER_TYPE(MaxPooling<arma::mat>)
CEREAL_REGISTER_TYPE(Linear<arma::mat>)
CEREAL_REGISTER_TYPE(ReLU<arma::mat>)
CEREAL_REGISTER_TYPE(LogSoftMax<arma::mat>)

struct Model {
  FFN<NegativeLogLikelihood, GlorotInitialization> net{NegativeLogLikelihood(false)};
  StandardScaler scale;
  template <class Archive> void serialize(Archive& archive, uint32_t) { archive(CEREAL_NVP(net), CEREAL_NVP(scale)); }
};

arma::mat augmented(arma::mat const& x) {
  arma::mat all(arma::size(x));
  for (arma::uword i = 0; i < x.n_cols; ++i) {
    arma::cube wide(38, 38, 3);
    wide.tube(3, 3, 34, 34) = arma::cube(x.colptr(i), 32, 32, 3);  // a column is a row of the picture
    arma::ivec const at = arma::randi<arma::ivec>(2, arma::distr_param(0, 6));
    arma::cube one = wide.tube(at(0), at(1), at(0) + 31, at(1) + 31);
    if (arma::randu() < 0.5) one.each_slice([](arma::mat& slice) { slice = arma::flipud(slice); });
    all.col(i) = arma::vectorise(one) * arma::randu(arma::distr_param(0.8, 1.2));
  }
  return all;
}

int main(int argc, char** argv) try {
  if (argc != 2)
    return std::fprintf(stderr, "usage: pictures_mlpack FOLDER, with a folder of pictures for each class\n"), 2;
  std::vector<fs::path> folders(fs::directory_iterator(argv[1]), fs::directory_iterator{});
  std::sort(folders.begin(), folders.end());
  arma::mat pictures, labels, x, y, test, wanted, scaled, p, counts;
  for (std::size_t label = 0; label < folders.size(); ++label)
    for (auto const& file : fs::directory_iterator(folders[label])) {
      arma::mat picture;
      ImageOptions options = Fatal;
      options.Channels() = 3;
      Load(file.path(), picture, options);
      ResizeImages(picture, options, 32, 32);
      pictures.insert_cols(pictures.n_cols, GroupChannels(picture, options));
      labels.insert_cols(labels.n_cols, arma::mat{static_cast<double>(label)});
    }
  Split(pictures, labels, x, test, y, wanted, 0.2);

  Model pets;
  pets.scale.Fit(x);
  pets.scale.Transform(arma::mat(test), test);
  pets.net.InputDimensions() = {32, 32, 3};
  pets.net.Add<Convolution>(16, 3, 3, 1, 1, 1, 1);
  pets.net.Add<ReLU>();
  pets.net.Add<MaxPooling>(2, 2, 2, 2);
  pets.net.Add<Convolution>(32, 3, 3, 1, 1, 1, 1);
  pets.net.Add<ReLU>();
  pets.net.Add<MaxPooling>(2, 2, 2, 2);
  pets.net.Add<Linear>(64);
  pets.net.Add<ReLU>();
  pets.net.Add<Linear>(2);
  pets.net.Add<LogSoftMax>();
  ens::MomentumSGD momentum(0.02, 32, x.n_cols, -1, true, ens::MomentumUpdate(0.9));  // an epoch for each call of Train
  momentum.ResetPolicy() = false;
  double least = arma::datum::inf;
  int epoch = 0;
  for (int since = 0; epoch < 20 && since < 8; ++epoch) {
    momentum.StepSize() = 0.01 * (1 + std::cos(arma::datum::pi * epoch / 20));
    pets.scale.Transform(augmented(x), scaled);
    pets.net.Train(scaled, y, momentum);
    double const loss = pets.net.Evaluate(test, wanted);
    since = loss < least ? 0 : since + 1;
    if (since == 0) least = loss, Save("pets.bin", pets);
  }

  Load("pets.bin", pets, Fatal);
  pets.net.Predict(test, p);
  ConfusionMatrix(arma::conv_to<arma::Row<size_t>>::from(arma::index_max(p)),
                  arma::conv_to<arma::Row<size_t>>::from(wanted), counts, 2);
  std::printf("%d epochs, accuracy %.3f\n", epoch, arma::trace(counts) / test.n_cols);
  std::cout << counts.t();  // a row for each class
} catch (std::exception const& e) {
  std::fprintf(stderr, "pictures_mlpack: %s\n", e.what());
  return 2;
}
