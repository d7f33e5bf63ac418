// refused: Plan: rate is a Rate: static constexpr Rate rate = Rate::constant(0.1f);
// refused: the_rate_is_a_Rate<
// refused: float
// refused: Train
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {
  static constexpr float rate = 0.1f;
};
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
