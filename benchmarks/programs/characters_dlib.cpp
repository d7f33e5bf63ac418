// programs/characters_dlib - the task of examples/13_characters.cpp with dlib: `characters_dlib plays.txt`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlib/dnn.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
using namespace dlib;

constexpr int places = 24;  // characters that the next one follows from
template <typename Below> using embedding = con<12, 1, 256, 1, 256, Below>;  // of rows with a single 1
using Hidden = relu<fc<192, embedding<input<matrix<float>>>>>;
using Net = loss_multiclass_log<fc<256, Hidden>>;
using Sampler = softmax<fc<256, Hidden>>;

matrix<float> window(std::string const& text, std::size_t at) {
  matrix<float> x = zeros_matrix<float>(places, 256);
  for (int i = 0; i < places; ++i) x(i, static_cast<unsigned char>(text[at + i])) = 1;
  return x;
}

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: characters_dlib TEXT [EPOCHS]\n"), 2;
  std::ifstream file(argv[1], std::ios::binary);
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  std::size_t const all = text.size() - places, used = all * 95 / 100;  // the end of the text is held out
  std::vector<std::size_t> order(all);
  std::iota(order.begin(), order.end(), 0);

  Net net;
  dnn_trainer<Net, adam> trainer(net, adam(0, 0.9, 0.999));
  trainer.set_iterations_without_progress_threshold(100000000);  // the rate is set below
  std::vector<matrix<float>> x;
  std::vector<unsigned long> y;
  auto const read = [&](std::size_t from, std::size_t to) {
    x.clear(), y.clear();
    for (std::size_t i = from; i < std::min(from + 128, to); ++i)
      x.push_back(window(text, order[i])), y.push_back(static_cast<unsigned char>(text[order[i] + places]));
    return static_cast<double>(x.size());
  };
  std::mt19937 random(1);
  int const epochs = argc > 2 ? std::atoi(argv[2]) : 2;
  double const steps = epochs * std::ceil(used / 128.0);
  for (int epoch = 1, step = 0; epoch <= epochs; ++epoch) {
    std::shuffle(order.begin(), order.begin() + used, random);
    for (std::size_t i = 0; i < used; i += 128) {
      double const rate = 0.0015 * (1 + std::cos(pi * step / steps));
      trainer.set_learning_rate(rate * std::min(1.0, ++step / 100.0));
      read(i, used);
      trainer.train_one_step(x, y);
    }
    trainer.get_net();  // waits for the trainer's thread
    double const loss = trainer.get_average_loss();
    trainer.clear_average_loss();
    double held_out = 0;
    for (std::size_t i = used; i < all; i += 128) {
      double const n = read(i, all);
      held_out += n * net.compute_loss(x.begin(), x.end(), y.begin()) / (all - used);
    }
    std::printf("epoch %d: loss %.3f, held out %.3f\n", epoch, loss, held_out);
  }

  Sampler sampler;
  sampler.subnet() = net.subnet();
  std::string written = "to be, or not to be: that";
  for (int i = 0; i < 200; ++i) {
    auto const& p = sampler(window(written, written.size() - places));
    written += static_cast<char>(std::discrete_distribution<int>(p.begin(), p.end())(random));
  }
  std::printf("%s\n", written.c_str());
} catch (std::exception const& e) {
  std::fprintf(stderr, "characters_dlib: %s\n", e.what());
  return 2;
}
