// 08_sweep - several networks in parallel processes: hyperparameters by cross-validation, the best three.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/train/sweep.hpp>

#include <cstdio>

#include "spirals.hpp"

using namespace cleave;

template <int Width>
struct Net : Sequential<Vector<2>, Linear<Width>, Relu, Linear<Width>, Relu, Linear<3>, CrossEntropy> {};
template <int Width> struct Train : Plan<Net<Width>, Batch<50>, MicroBatches<1>, DataParallel<Sync>, Adam> {};

struct Setting {
  int width;
  float rate;
};

/// The mean accuracy over three folds.
template <int Width> double accuracy(Setting const& s) {
  double sum = 0;
  Spirals const all;
  for (auto const& [training, validation] : folds(all, 3)) {
    Trainer<Train<Width>> trainer;
    trainer.fit(training, {.epochs = 15, .rate = Rate::constant(s.rate)});
    sum += trainer.evaluate(validation).accuracy / 3;
  }
  return sum;
}

int main() {
  std::vector<Setting> settings;
  for (int width : {4, 16, 64})
    for (float rate : {0.0001f, 0.003f, 0.03f}) settings.push_back({width, rate});
  auto const tried = sweep(settings, 2, [](Setting const& s) {
    return s.width == 4 ? accuracy<4>(s) : s.width == 16 ? accuracy<16>(s) : accuracy<64>(s);
  });
  for (std::size_t i = 0; i < 3; ++i)  // sorted, the best first
    std::printf("%zu. width %2d, rate %g: accuracy %.3f\n", i + 1, tried[i].setting.width,
                static_cast<double>(tried[i].setting.rate), tried[i].score);

  std::printf("answer: of %zu settings the best three are", tried.size());
  for (std::size_t i = 0; i < 3; ++i)
    std::printf("%s width %d with rate %g",
                i == 0   ? ""
                : i == 1 ? ","
                         : " and",
                tried[i].setting.width, static_cast<double>(tried[i].setting.rate));
  std::printf("; the worst has an accuracy of %.3f\n", tried.back().score);
}
