// programs/multi_label_dlib - the task of examples/16_multi_label.cpp with dlib: `multi_label_dlib x.npy y.npy`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlib/dnn.h>
#include <dlib/statistics.h>
#include <cmath>
#include <cstdio>
#include <fstream>
using namespace dlib;

using Song = matrix<float, 20, 1>;
using Net = loss_multibinary_log<fc<5, relu<fc<64, input<Song>>>>>;

/// Rows of f32 numbers behind a header of 128 bytes.
template <typename Row> std::vector<Row> read_npy(char const* name, Row row) {
  std::ifstream file(name, std::ios::binary);
  file.ignore(128);
  std::vector<Row> rows;
  while (file.read(reinterpret_cast<char*>(&*row.begin()), row.size() * sizeof(float))) rows.push_back(row);
  if (rows.empty()) throw error(std::string(name) + ": no rows");
  return rows;
}

int main(int argc, char** argv) try {
  if (argc != 3) return std::fprintf(stderr, "usage: multi_label_dlib X.npy Y.npy\n"), 2;
  auto x = read_npy(argv[1], Song());
  auto y = read_npy(argv[2], std::vector<float>(5));
  for (auto& labels : y)
    for (float& label : labels) label = 2 * label - 1;
  dlib::rand random;
  randomize_samples(x, y, random);
  std::vector<Song> test(x.begin() + x.size() * 4 / 5, x.end());
  std::vector<std::vector<float>> wanted(y.begin() + y.size() * 4 / 5, y.end());
  x.resize(x.size() * 4 / 5), y.resize(x.size());
  vector_normalizer<Song> scale;
  scale.train(x);
  for (auto& song : x) song = scale(song);
  for (auto& song : test) song = scale(song);

  Net net;
  dnn_trainer<Net, adam> trainer(net, adam(0, 0.9, 0.999));
  trainer.set_iterations_without_progress_threshold(100000);  // the rate is set below
  double least = INFINITY;
  for (int epoch = 0, since = 0; epoch < 40 && since < 10; ++epoch) {
    trainer.set_learning_rate(0.0025 * (1 + std::cos(pi * epoch / 40)));
    randomize_samples(x, y, random);
    for (std::size_t i = 0; i < x.size(); i += 64) {
      auto const end = std::min(i + 64, x.size());
      trainer.train_one_step(x.begin() + i, x.begin() + end, y.begin() + i);
    }
    trainer.get_net();  // waits for the trainer's thread
    double const loss = net.compute_loss(test.begin(), test.end(), wanted.begin());
    since = loss < least ? 0 : since + 1;
    if (since == 0) least = loss, serialize("songs.dat") << scale << net;
  }

  deserialize("songs.dat") >> scale >> net;
  auto const said = net(test);
  double accuracy = 0, f1 = 0;
  for (int k = 0; k < 5; ++k) {
    double both = 0, either = 0;
    for (std::size_t i = 0; i < test.size(); ++i) {
      bool const a = said[i][k] > 0, b = wanted[i][k] > 0;
      accuracy += a == b, both += a && b, either += a + b;
    }
    f1 += 2 * both / either / 5;
  }
  std::printf("of %zu songs: accuracy %.3f, F1 %.3f\n", test.size(), accuracy / 5 / test.size(), f1);
} catch (std::exception const& e) {
  std::fprintf(stderr, "multi_label_dlib: %s\n", e.what());
  return 2;
}
