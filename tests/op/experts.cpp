// op/experts.cpp - which experts a position goes to, who is dropped, and the way to the experts and back, by small numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/experts.hpp>

#include <cmath>
#include <random>

#include "operation.hpp"

using namespace cleave;
using test::zeros;

namespace {

/// Logits are the features: the weight is the identity.
template <class Route, int Positions, int Experts> struct Routed {
  static constexpr op::Local local = test::local<Route>(1, Shape(Positions, Experts));
  std::vector<float> w = zeros(Experts * Experts), y = zeros(Positions * Experts),
                     aux = zeros(Route::aux(local.x, local.y));
  op::Operands<float> t;
  explicit Routed(std::vector<float> const& x) {
    for (std::size_t e = 0; e < Experts; ++e) w[e * Experts + e] = 1;
    t.x = x.data();
    t.w0 = w.data();
    t.y = y.data();
    t.aux = aux.data();
    Route::template forward<local>(test::Serial{}, t);
  }
};
std::vector<float> softmax(std::vector<float> x) {
  float sum = 0;
  for (float& v : x) sum += v = std::exp(v);
  for (float& v : x) v /= sum;
  return x;
}

}  // namespace

TEST_CASE("one of them by its probability, two by their shares") {
  std::vector<float> const x{1, 3, 2, /**/ 0, -1, 5}, p = softmax({1, 3, 2}), q = softmax({0, -1, 5});
  Routed<op::ChooseExperts<3, 1, 300, 0>, 2, 3> const one(x);
  CHECK(one.y[1] == doctest::Approx(p[1]));
  CHECK(one.y[5] == doctest::Approx(q[2]));
  CHECK((one.y[0] == 0 && one.y[2] == 0 && one.y[3] == 0 && one.y[4] == 0));
  Routed<op::ChooseExperts<3, 2, 300, 0>, 2, 3> const two(x);
  CHECK(two.y[1] == doctest::Approx(p[1] / (p[1] + p[2])));
  CHECK(two.y[2] == doctest::Approx(p[2] / (p[1] + p[2])));
  CHECK(two.y[5] == doctest::Approx(q[2] / (q[2] + q[0])));
  CHECK((two.y[0] == 0 && two.y[4] == 0));
}
TEST_CASE("the first of equal ones; an expert that is full drops later positions, and earlier ones do not see it") {
  using Route = op::ChooseExperts<2, 1, 100, 0>;
  static_assert(Route::room(5) == 3 && Route::room(4) == 2 && Route::room(1) == 1);
  static_assert(op::ChooseExperts<8, 2, 125, 0>::room(64) == 20 && op::ChooseExperts<2, 2, 500, 0>::room(4) == 4);
  Routed<Route, 4, 2> const all_to_first({2, 1, 0, 0, 3, 0, 0, 1});  // the second has equal logits
  CHECK((all_to_first.y[0] > 0 && all_to_first.y[2] > 0));
  CHECK(all_to_first.y[4] == 0);  // the third is dropped
  CHECK(all_to_first.y[7] > 0);
  Routed<Route, 4, 2> const later({2, 1, 0, 0, 3, 0, 9, 0});
  for (std::size_t i = 0; i < 6; ++i) CHECK(later.y[i] == all_to_first.y[i]);
}
TEST_CASE("the balancing loss has the gradient of its formula") {
  constexpr int positions = 5, experts = 4, top = 2, percent = 50;
  using Route = op::ChooseExperts<experts, top, 400, percent>;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(positions * experts);
  for (float& v : x) v = normal(random);
  Routed<Route, positions, experts> r(x);
  std::vector<float> dy = zeros(positions * experts), dx = dy;
  r.t.dy = dy.data();  // nothing but the balance
  r.t.dx = dx.data();
  r.t.scale = 0.25f;
  Route::backward_input<r.local>(test::Serial{}, r.t);
  auto const loss = [&](std::vector<float> const& logits) {
    double share[experts] = {}, mean[experts] = {}, sum = 0;
    for (std::size_t p = 0; p < positions; ++p) {
      auto const at = softmax(
          {logits.begin() + static_cast<long>(p * experts), logits.begin() + static_cast<long>((p + 1) * experts)});
      for (std::size_t e = 0; e < experts; ++e) {
        mean[e] += double{at[e]} / positions;
        share[e] += (r.y[p * experts + e] > 0 ? 1.0 : 0.0) / (positions * top);
      }
    }
    for (int e = 0; e < experts; ++e) sum += share[e] * mean[e];
    return percent / 100.0 * experts * sum;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto high = x, low = x;
    high[i] += 1e-2f;
    low[i] -= 1e-2f;
    CHECK(dx[i] == doctest::Approx(0.25 * (loss(high) - loss(low)) / 2e-2).epsilon(2e-3).scale(0.01));
  }
}
TEST_CASE("to the experts and back: places in order, what is not taken is 0, a position without an expert has 0") {
  using Route = op::ChooseExperts<2, 1, 100, 0>;
  constexpr int positions = 3, features = 2, experts = 2, room = Route::room(positions);
  std::vector<float> const x{1, 2, 3, 4, 5, 6}, gates{0.5f, 0, 0, 0, 0.25f, 0.125f};
  constexpr op::Local to{
      1, 1, Shape(positions, features), Shape(positions, experts), Shape(experts * features, 1, room), {}, {}};
  static_assert(to.y == op::DispatchToExperts<Route>::output(to.x, to.x2) && room == 2);
  auto y = zeros(to.y.size()), aux = zeros(op::DispatchToExperts<Route>::aux(to.x, to.y));
  y.assign(y.size(), 9);
  op::Operands<float> t;
  t.x = x.data();
  t.x2 = gates.data();
  t.y = y.data();
  t.aux = aux.data();
  op::DispatchToExperts<Route>::forward<to>(test::Serial{}, t);
  CHECK(y == std::vector<float>{1, 5, 2, 6, /**/ 5, 0, 6, 0});
  constexpr op::Local from{1, 1, to.y, to.x2, to.x, {}, {}};
  auto back = zeros(6), places = zeros(op::CombineExperts::aux(from.x, from.y));
  op::Operands<float> u;
  u.x = y.data();
  u.x2 = gates.data();
  u.y = back.data();
  u.aux = places.data();
  op::CombineExperts::forward<from>(test::Serial{}, u);
  CHECK(back == std::vector<float>{0.5f, 1, 0, 0, 5 * 0.375f, 6 * 0.375f});
  auto of_gates = zeros(6), dx = zeros(from.x.size());
  u.dy = x.data();
  u.dx = dx.data();
  u.dx2 = of_gates.data();
  op::CombineExperts::backward_input<from>(test::Serial{}, u);
  CHECK(of_gates == std::vector<float>{5, 0, 0, 0, 61, 61});
  CHECK(dx == std::vector<float>{0.5f, 1.25f, 1, 1.5f, /**/ 0.625f, 0, 0.75f, 0});
  auto sum = zeros(6);
  t.dy = y.data();
  t.dx = sum.data();
  op::DispatchToExperts<Route>::backward_input<to>(test::Serial{}, t);
  CHECK(sum == std::vector<float>{1, 2, 0, 0, 10, 12});
}
