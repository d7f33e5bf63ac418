// op/next_position.cpp - operations on one more position have the bits of those on all positions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/next_position.hpp>
#include <cleave/tensor/philox.hpp>

#include "operation.hpp"

using namespace cleave;

namespace {

constexpr int positions = 7;

std::vector<float> numbers(long n) {
  tensor::Random const random{5, tensor::Purpose::Augment, 0};
  std::vector<float> v;
  for (long i = 0; i < n; ++i) v.push_back(2 * random.uniform(static_cast<std::uint64_t>(i)) - 1);
  return v;
}

/// Next on one position after the other against All on all of them; twice, from a state of zeros.
template <class All, class Next, int Parts, int Heads, int Width> void compare() {
  static constexpr op::Local all = test::local<All>(1, Shape(positions, Parts, Heads, Width)),
                             one = test::local<Next>(1, Shape(1, Parts, Heads, Width));
  std::vector<float> const x = numbers(all.x.size());
  std::vector<float> wanted(static_cast<std::size_t>(all.y.size())), y(wanted.size());
  std::vector<float> aux(static_cast<std::size_t>(All::aux(all.x, all.y)));
  op::Operands<float> t;
  t.x = x.data(), t.y = wanted.data(), t.aux = aux.data();
  All::template forward<all>(test::Serial{}, t);
  for (int again = 0; again < 2; ++again) {
    std::vector<float> state(static_cast<std::size_t>(Next::state(one.x).size()));
    for (int p = 0; p < positions; ++p) {
      op::Operands<float> next;
      next.x = x.data() + p * one.x.size(), next.y = y.data() + p * one.y.size(), next.state0 = state.data();
      Next::template forward<one>(test::Serial{}, next);
      CHECK(state[0] == static_cast<float>(p + 1));
    }
    CHECK(y == wanted);
  }
}

}  // namespace

TEST_CASE("the next position attends to those before it as it does among all") {
  compare<op::Attend<true>, op::AttendNextPosition<positions>, 3, 2, 4>();
  compare<op::Attend<true>, op::AttendNextPosition<positions>, 5, 2, 4>();  // three queries share a key
}
TEST_CASE("the next position is turned as it is among all") {
  compare<op::RotatePositions, op::RotateNextPosition, 3, 2, 6>();
  compare<op::RotatePositions, op::RotateNextPosition, 5, 2, 6>();
}
