// op/dropout.cpp - a draw depends on where an element stands in the whole, not on the slice or the cut.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/dropout.hpp>

#include "operation.hpp"

using namespace cleave;

namespace {
template <int Rows, int Features>
std::vector<float> dropped(op::Pass pass, long sample, long feature, std::vector<float> const& x) {
  static constexpr op::Local l{Rows, Rows, Shape(Features), {}, Shape(Features), {}, {}};
  std::vector<float> y(x.size());
  op::Operands<float> t;
  t.x = x.data();
  t.y = y.data();
  t.where = {3, sample, feature, 40, true};
  t.pass = &pass;
  op::Drop<25>::forward<l>(test::Serial{}, t);
  return y;
}
}  // namespace

TEST_CASE("a slice and a cut draw what the whole draws; another step draws anew") {
  op::Pass const pass{5, 7, true};
  std::vector<float> const ones(6 * 40, 1.f);
  auto const whole = dropped<6, 40>(pass, 0, 0, ones);
  auto const slice = dropped<2, 40>(pass, 3, 0, std::vector<float>(80, 1.f));
  CHECK(std::vector<float>(whole.begin() + 3 * 40, whole.begin() + 5 * 40) == slice);
  auto const half = dropped<1, 20>(pass, 5, 20, std::vector<float>(20, 1.f));
  CHECK(std::vector<float>(whole.begin() + 5 * 40 + 20, whole.end()) == half);
  CHECK(dropped<6, 40>({5, 8, true}, 0, 0, ones) != whole);
  CHECK(dropped<6, 40>({6, 7, true}, 0, 0, ones) != whole);
}

TEST_CASE("a quarter is dropped and the rest scaled, so that the mean stays; evaluation drops nothing") {
  std::vector<float> const ones(250 * 40, 1.f);
  auto const y = dropped<250, 40>({1, 1, true}, 0, 0, ones);
  double sum = 0;
  int zeros = 0;
  for (float v : y) {
    CHECK((v == 0 || v == doctest::Approx(4.0 / 3)));
    zeros += v == 0;
    sum += v;
  }
  CHECK(zeros == doctest::Approx(2500).epsilon(0.05));
  CHECK(sum == doctest::Approx(10000).epsilon(0.02));
  CHECK(dropped<250, 40>({1, 1, false}, 0, 0, ones) == ones);
}
