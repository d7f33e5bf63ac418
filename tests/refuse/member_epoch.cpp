// refused: Plan: nothing reads this member. A plan's own are rate (a Rate), epochs and delay
// refused: member::epoch
// refused: Train
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {
  static constexpr int epoch = 8;
};
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
