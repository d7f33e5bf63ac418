// op/per_position.cpp - an operation on each position: its equation, its extents, and the results of one by one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/bias.hpp>
#include <cleave/op/class_sums.hpp>
#include <cleave/op/layer_norm.hpp>
#include <cleave/op/loss.hpp>
#include <cleave/op/per_position.hpp>
#include <cleave/op/product.hpp>

#include "operation.hpp"

using namespace cleave;

TEST_CASE("positions are a letter behind the batch of each value, and of no weight or loss") {
  static_assert(op::OnEachPosition<op::Product<3>>::equation == "bti,io->bto");
  static_assert(op::OnEachPosition<op::Bias>::equation == "bto*,o->bto*");
  static_assert(op::OnEachPosition<op::LayerNorm>::equation == "btFGH,FGH->btFGH");
  static_assert(op::OnEachPosition<op::SoftmaxCrossEntropy>::equation == "bTFGH->b");
  static_assert(op::OnEachPosition<op::ClassSums>::equation == "btf->btf");
}
TEST_CASE("shapes and weights are those of one position") {
  using P = op::OnEachPosition<op::Product<3>>;
  static_assert(P::output(Shape(5, 4)) == Shape(5, 3));
  static_assert(P::weight(0, Shape(5, 4)).shape == Shape(4, 3));
  static_assert(P::weight(0, Shape(5, 4)).fan_in == 4);
  static_assert(op::OnEachPosition<op::LayerNorm>::aux(Shape(5, 4), Shape(5, 4)) == 10);
  constexpr op::Local l = op::by_position({2, 6, Shape(5, 4), {}, Shape(5, 3), Shape(4, 3), {}});
  static_assert(l.rows == 10 && l.batch == 30 && l.x == Shape(4) && l.y == Shape(3) && l.w0 == Shape(4, 3));
}
TEST_CASE("positions are computed as samples are") {
  using P = op::OnEachPosition<op::Product<2>>;
  static constexpr op::Local l = test::local<P>(2, Shape(3, 2)), alone = test::local<op::Product<2>>(6, Shape(2));
  std::vector<float> const x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, w{1, -1, 2, 0.5f};
  auto y = test::zeros(12), wanted = test::zeros(12);
  op::Operands<float> t;
  t.x = x.data();
  t.w0 = w.data();
  t.y = y.data();
  P::forward<l>(test::Serial{}, t);
  t.y = wanted.data();
  op::Product<2>::forward<alone>(test::Serial{}, t);
  CHECK(y == wanted);
}
TEST_CASE("a loss of positions is the mean of theirs, each against its own class") {
  using P = op::OnEachPosition<op::SoftmaxCrossEntropy>;
  static_assert(P::labels(Shape(3, 2)) == 3 && P::output(Shape(3, 2)) == Shape(1));
  static constexpr op::Local l = [] {
    op::Local of = test::local<P>(1, Shape(3, 2));
    of.labels = 3;
    return of;
  }();
  std::vector<float> const x{0, 0, 0, 1, 2, 0};
  std::vector<int> const labels{1, 1, 0};
  auto dx = test::zeros(6);
  float loss = 0;
  op::Operands<float> t;
  t.x = x.data();
  t.dx = dx.data();
  t.labels = labels.data();
  t.loss = &loss;
  P::forward<l>(test::Serial{}, t);
  CHECK(loss == doctest::Approx((std::log(2.0) + std::log1p(std::exp(-1.0)) + std::log1p(std::exp(-2.0))) / 3));
  P::backward_input<l>(test::Serial{}, t);
  CHECK(dx[0] == doctest::Approx(0.5 / 3));
  CHECK(dx[1] == doctest::Approx(-0.5 / 3));
  CHECK(dx[4] == doctest::Approx((1 / (1 + std::exp(-2.0)) - 1) / 3));
}
TEST_CASE("a position whose class is ignored counts as nothing, and of a sample of such positions nothing is left") {
  using P = op::OnEachPosition<op::SoftmaxCrossEntropy>;
  static constexpr op::Local l{2, 2, Shape(3, 2), {}, Shape(1), {}, {}, 3};
  std::vector<float> const x{0, 0, 5, 7, 2, 0, 1, 2, 3, 4, 5, 6};
  std::vector<int> const labels{1, op::ignored, 0, op::ignored, op::ignored, op::ignored};
  std::vector<float> dx(12, 9);
  float loss = 0;
  op::Operands<float> t;
  t.x = x.data();
  t.dx = dx.data();
  t.labels = labels.data();
  t.loss = &loss;
  P::forward<l>(test::Serial{}, t);
  CHECK(loss == doctest::Approx((std::log(2.0) + std::log1p(std::exp(-2.0))) / 2));
  P::backward_input<l>(test::Serial{}, t);
  CHECK(dx[1] == doctest::Approx(-0.5 / 2));
  for (std::size_t i : {2u, 3u, 6u, 7u, 8u, 9u, 10u, 11u}) CHECK(dx[i] == 0);
}
TEST_CASE("a slice of samples has as many labels as positions") {
  static constexpr op::Local l{2, 6, Shape(3, 4), {}, Shape(1), {}, {}, 3};
  int const labels[18]{};
  op::Operands<float> t;
  t.labels = labels;
  CHECK(op::slice_of<l>(t, 2, 0).labels - labels == 12);
}
