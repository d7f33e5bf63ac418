// refused: fit: CrossEntropy compares with classes, Target = Class<n>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<4>> {};
struct Points {
  using Input = Vector<4>;
  using Target = Values<2>;
  long size() const { return 8; }
  void read(long, std::span<float>, std::span<float>) const {}
};
int main() { Trainer<Train>().fit(Points{}); }
