// consumers/hello.cpp - the smallest user of the library: plans, trains two steps on drawn pictures, ends with 0.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Image<3, 32, 32>, Linear<16>, Relu, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<32>, DataParallel<Sync>> {};

int main() {
  io::Images const images = io::draw_standin(64, 1);
  session::Batches batches(images, session::Scaling::of(images), Train::batch, 1, true);
  Trainer<Train> trainer(2);
  return trainer.train(0, 2, batches.feed()).size() == 2 ? 0 : 1;
}
