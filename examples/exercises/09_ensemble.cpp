// 09_ensemble - three networks of different types answer together, each in a thread of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/predict/ensemble.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "spirals.hpp"

using namespace cleave;

struct Wide : Sequential<Vector<2>, Linear<48>, Relu, Linear<3>, CrossEntropy> {};
struct Deep : Sequential<Vector<2>, Linear<16>, Tanh, Linear<16>, Tanh, Linear<16>, Tanh, Linear<3>, CrossEntropy> {};
struct Jump : Sequential<Vector<2>, Linear<24>, Relu, Residual<Linear<24>, Relu>, Linear<3>, CrossEntropy> {};
template <class Net> struct Train : Plan<Net, Batch<50>, MicroBatches<1>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::constant(0.005f);
};

template <class Net> Predictor<Net> trained(Spirals const& training) {
  Trainer<Train<Net>> trainer;
  trainer.fit(training, {.epochs = 30});
  return trainer.predictor();
}

int main() {
  Spirals const training{0, 600}, test{30000, 3000};
  std::vector<float> x(2 * 3000);
  std::vector<int> y(3000);
  for (std::size_t i = 0; i < y.size(); ++i) test.read(static_cast<long>(i), std::span(x).subspan(2 * i, 2), y[i]);

  auto wide = trained<Wide>(training);
  auto deep = trained<Deep>(training);
  auto jump = trained<Jump>(training);
  auto const accuracy = [&](auto& of) { return of.evaluate(x, y, Accuracy{}).value(); };
  double const alone[] = {accuracy(wide), accuracy(deep), accuracy(jump)};
  std::printf("wide %.3f, deep %.3f, jump %.3f\n", alone[0], alone[1], alone[2]);
  Ensemble all(wide, deep, jump);
  double const together = accuracy(all), best = std::max({alone[0], alone[1], alone[2]});
  std::printf("together %.3f\n", together);
  // Two standard errors of the difference of the two numbers of mistakes.
  double const n = static_cast<double>(y.size()), mistakes = n * (1 - together), of_best = n * (1 - best);
  double const chance = 2 * std::sqrt(mistakes + of_best);
  std::printf("answer: the three together make %.0f mistakes, the best one alone %.0f: together they are %s\n",
              mistakes, of_best,
              mistakes < of_best - chance   ? "better"
              : mistakes > of_best + chance ? "worse"
                                            : "as good, chance explains the difference");
}
