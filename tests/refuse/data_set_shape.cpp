// refused: samples_have_the_shape_of_the_models_input<cleave::Vector<3>, cleave::Vector<4>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Vector<4>, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<4>> {};
struct Points {
  using Input = Vector<3>;
  using Target = Class<2>;
  long size() const { return 8; }
  void read(long, std::span<float>, int&) const {}
};
int main() { Trainer<Train>().fit(Points{}); }
