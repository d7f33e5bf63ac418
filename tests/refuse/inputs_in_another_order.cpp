// refused: the samples of this data set have another shape than the model's input
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

using In = Inputs<Vector<3>, Vector<4>>;
struct Net : Sequential<In, In::at<0>, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<4>> {};
struct Swapped {
  using Input = Inputs<Vector<4>, Vector<3>>;
  using Target = Class<2>;
  static long size() { return 8; }
  static void read(long, std::span<float>, int& y) { y = 0; }
};
int main() { Trainer<Train>(1).fit(Swapped()); }
