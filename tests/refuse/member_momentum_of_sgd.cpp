// refused: this optimizer does not read the member. All read weight_decay, clip_norm and group
// refused: member::momentum
// refused: Mine
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<512>, Linear<10>, CrossEntropy> {};
struct Mine : Sgd {
  static constexpr float momentum = 0.9f;
};
struct Train : Plan<Net, Batch<8>, Mine> {};
int main(int argc, char** argv) { return run<Train, Mnist>(argc, argv); }
