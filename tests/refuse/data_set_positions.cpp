// refused: each_position_has_a_class<1, 4>
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Net : Sequential<Sequence<4, 2>, PerPosition<Linear<5>, CrossEntropy>> {};
struct Train : Plan<Net, Batch<4>> {};
struct Points {
  using Input = Sequence<4, 2>;
  using Target = Class<5>;
  long size() const { return 8; }
  void read(long, std::span<float>, int&) const {}
};
int main() { Trainer<Train>().fit(Points{}); }
