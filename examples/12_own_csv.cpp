// 12_own_csv - classes learnt from a CSV file: `12_own_csv iris.csv`, of four numbers and one of three names a line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
#include <cleave/data/csv.hpp>

#include <cstdio>

using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<16>, Relu, Linear<3>, CrossEntropy> {};
struct Train : Plan<Net, Batch<16>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.01f);
};

int main(int argc, char** argv) try {
  if (argc != 2) return std::fprintf(stderr, "usage: 12_own_csv FILE.csv\n"), 2;
  Csv<Vector<4>, Class<3>> const flowers(argv[1]);  // the last column has the names
  auto const [training, test] = split(flowers, 0.2);

  Trainer<Train> trainer;
  trainer.fit(training, {.epochs = 100, .standardise = true});
  trainer.save("flowers.safetensors");

  Predictor<Net> predict("flowers.safetensors");
  std::printf("accuracy of %ld samples: %.3f\n", test.size(), predict.evaluate(test, Accuracy{}).value());
  std::vector<float> x(4);
  int label = 0;
  test.read(0, x, label);
  std::printf("%g, %g, %g, %g: %s\n", x[0], x[1], x[2], x[3], predict.names(x)[0].c_str());
} catch (Error const& e) {
  std::fprintf(stderr, "12_own_csv: %s\n", e.what());
  return 2;
}
