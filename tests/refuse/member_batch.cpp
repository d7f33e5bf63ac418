// refused: Plan: batch, micro_batches, rounds, replicas and ways follow from the plan's words; say Batch<n>
// refused: what_words_say_is_no_member
// refused: Train
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Train : Plan<Net, Batch<8>> {
  static constexpr int batch = 64;
};
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
