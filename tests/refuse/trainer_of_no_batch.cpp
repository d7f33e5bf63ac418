// refused: Plan: say Batch<samples>
// refused: the_batch_is_said<0>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, DataParallel<Sync>> {};
double try_it(backend::host::Feed const& feed) {
  Trainer<Train> trainer(2, 7);
  trainer.set_rate(Rate::constant(0.1f));
  return trainer.train(0, 10, feed)[0] + trainer.accuracy(feed, 100);
}
static_assert(fits<Train, 64_MiB> && memory<Train>.total < 64_MiB && traffic<Train>.bytes_per_step < 64_MiB);
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
