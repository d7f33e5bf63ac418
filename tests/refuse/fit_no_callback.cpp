// refused: fit: a callback is a function of an Epoch or of a TrainedStep
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<2>, MeanSquaredError> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Sync>> {};
struct Printer {
  void on_epoch_end(Epoch const&) {}
};
int main() {
  std::vector<float> const x(32), y(16);
  Trainer<Train>().fit(x, y, {.epochs = 2}, Printer{});
}
