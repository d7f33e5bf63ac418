// refused: the samples of this data set have weights, which the loss does not read
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<4>> {};
struct Points {
  using Input = Vector<4>;
  using Target = Class<2>;
  long size() const { return 8; }
  void read(long, std::span<float>, int&) const {}
  float weight(long) const { return 1; }
};
int main() { Trainer<Train>().fit(Points{}); }
