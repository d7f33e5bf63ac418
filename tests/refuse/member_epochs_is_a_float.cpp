// refused: Plan: epochs is a whole number: static constexpr int epochs = 10;
// refused: epochs_are_a_whole_number<
// refused: float
// refused: Train
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {
  static constexpr float epochs = 1.5f;
};
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
