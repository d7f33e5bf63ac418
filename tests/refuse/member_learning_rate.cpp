// refused: Plan: nothing reads this member. A plan's own are rate (a Rate), epochs and delay
// refused: member::learning_rate
// refused: Train
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {
  static constexpr Rate learning_rate = Rate::constant(0.1f);
};
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
