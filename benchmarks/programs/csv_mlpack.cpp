// programs/csv_mlpack - the task of examples/12_own_csv.cpp with mlpack: `csv_mlpack iris.csv`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MLPACK_ANN_IGNORE_SERIALIZATION_WARNING
#include <cstdio>
#include <fstream>
#include <mlpack.hpp>
using namespace mlpack;

CEREAL_REGISTER_TYPE(Linear<arma::mat>)
CEREAL_REGISTER_TYPE(ReLU<arma::mat>)
CEREAL_REGISTER_TYPE(LogSoftMax<arma::mat>)

struct Model {
  FFN<NegativeLogLikelihood, GlorotInitialization> net;
  StandardScaler scale;
  DatasetInfo columns;  // has the names of classes
  template <class Archive> void serialize(Archive& archive, uint32_t) {
    archive(CEREAL_NVP(net), CEREAL_NVP(scale), CEREAL_NVP(columns));
  }
};

int main(int argc, char** argv) try {
  if (argc != 2) return std::fprintf(stderr, "usage: csv_mlpack FILE.csv\n"), 2;
  arma::mat data, used, test, scaled, p;
  std::string line;
  std::ifstream file(argv[1]);
  std::getline(file, line);  // names of columns: with Categorical, Load takes them for a row
  std::ofstream("rows.csv") << file.rdbuf();
  TextOptions options = Categorical + Fatal;
  Load("rows.csv", data, options);
  Split(data, used, test, 0.2);
  arma::mat const x = used.head_rows(4), y = used.row(4), test_x = test.head_rows(4);

  Model flowers;
  flowers.columns = options.DatasetInfo();
  flowers.scale.Fit(x);
  flowers.scale.Transform(x, scaled);
  flowers.net.Add<Linear>(16);
  flowers.net.Add<ReLU>();
  flowers.net.Add<Linear>(3);
  flowers.net.Add<LogSoftMax>();
  ens::Adam adam(0.01, 16, 0.9, 0.999, 1e-8, 100 * x.n_cols, -1);
  flowers.net.Train(scaled, y, adam);
  Save("flowers.bin", flowers);

  Model predict;
  Load("flowers.bin", predict, Fatal);
  predict.scale.Transform(test_x, scaled);
  predict.net.Predict(scaled, p);
  arma::rowvec const kinds = arma::conv_to<arma::rowvec>::from(arma::index_max(p));
  std::printf("accuracy of %zu samples: %.3f\n", size_t(test.n_cols),
              arma::mean(arma::conv_to<arma::rowvec>::from(kinds == test.row(4))));
  std::printf("%g, %g, %g, %g: %s\n", test(0, 0), test(1, 0), test(2, 0), test(3, 0),
              predict.columns.UnmapString(kinds(0), 4).c_str());
} catch (std::exception const& e) {
  std::fprintf(stderr, "csv_mlpack: %s\n", e.what());
  return 2;
}
