// refused: Trainer sums by collectives; for this agreement take Served<Plan>
// refused: a_trainer_sums_by_collectives<true>
// refused: Train
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>, DataParallel<Async>> {};
double try_it(backend::host::Feed const& feed) {
  Trainer<Train> trainer(2, 7);
  return trainer.train(0, 10, feed)[0];
}
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
