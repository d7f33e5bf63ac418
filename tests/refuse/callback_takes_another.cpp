// refused: fit: a member function begin, step, epoch or end of a callback takes a FitStart, a TrainedStep
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<2>, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<4>> {};
struct Watching {
  void step(TrainedStep&) {}
  void end(History const&) {}
};
int main() {
  std::vector<float> const x(8);
  std::vector<int> const y(4);
  Trainer<Train>(1).fit(x, y, {}, Watching{});
}
