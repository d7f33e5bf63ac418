// refused: values_are_as_many_as_outputs<3, 2>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<2>, MeanSquaredError> {};
struct Train : Plan<Net, Batch<4>> {};
struct Points {
  using Input = Vector<4>;
  using Target = Values<3>;
  long size() const { return 8; }
  void read(long, std::span<float>, std::span<float>) const {}
};
int main() { Trainer<Train>().fit(Points{}); }
