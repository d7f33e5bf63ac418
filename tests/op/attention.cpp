// op/attention.cpp - attention against a softmax of all pairs in f64, with its gradients by differences.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/op/attention.hpp>
#include <cleave/tensor/philox.hpp>

#include "operation.hpp"

using namespace cleave;

namespace {

constexpr int samples = 2, positions = 4, heads = 6, width = 3;

std::vector<double> numbers(long n) {
  tensor::Random const random{5, tensor::Purpose::Augment, 0};
  std::vector<double> v;
  for (long i = 0; i < n; ++i) v.push_back(2 * random.uniform(static_cast<std::uint64_t>(i)) - 1);
  return v;
}

/// y (samples, positions, heads, width), by the equation. Head h has the keys and values of group h / shared.
std::vector<double> oracle(std::vector<double> const& x, bool causal, int shared) {
  std::vector<double> y;
  auto const at = [&](int b, int p, int which, int h, int d) {
    int const part = which == 0 ? h % shared : shared - 1 + which, groups = heads / shared;
    return x[static_cast<std::size_t>((((b * positions + p) * (shared + 2) + part) * groups + h / shared) * width + d)];
  };
  for (int b = 0; b < samples; ++b)
    for (int p = 0; p < positions; ++p)
      for (int h = 0; h < heads; ++h)
        for (int d = 0; d < width; ++d) {
          double sum = 0, mean = 0;
          for (int k = 0; k < (causal ? p + 1 : positions); ++k) {
            double score = 0;
            for (int e = 0; e < width; ++e) score += at(b, p, 0, h, e) * at(b, k, 1, h, e);
            double const w = std::exp(score / std::sqrt(double{width}));
            sum += w;
            mean += w * at(b, k, 2, h, d);
          }
          y.push_back(mean / sum);
        }
  return y;
}

template <bool Causal, int Shared = 1> void compare() {
  using Op = op::Attend<Causal>;
  static constexpr Shape shape(positions, Shared + 2, heads / Shared, width);
  static constexpr op::Local l = test::local<Op>(samples, shape);
  static_assert(l.y == Shape(positions, heads / Shared, Shared * width) && Op::aux(shape, l.y) == positions * heads);
  static_assert(Op::work(shape) == (Causal ? 1 : 2) * positions * positions * heads * width);
  std::vector<double> x = numbers(samples * shape.size()), dy = numbers(samples * l.y.size());
  std::vector<double> y(dy.size()), aux(static_cast<std::size_t>(samples * Op::aux(shape, l.y))), dx(x.size());
  op::Operands<double> t;
  t.x = x.data();
  t.y = y.data();
  t.aux = aux.data();
  t.dy = dy.data();
  t.dx = dx.data();
  Op::template forward<l>(test::Serial{}, t);
  std::vector<double> const wanted = oracle(x, Causal, Shared);
  for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == doctest::Approx(wanted[i]));
  Op::template backward_input<l>(test::Serial{}, t);
  auto const value = [&](std::vector<double> const& at) {
    double sum = 0;
    std::vector<double> const out = oracle(at, Causal, Shared);
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * dy[i];
    return sum;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    double const h = 1e-5, before = x[i];
    x[i] = before + h;
    double const high = value(x);
    x[i] = before - h;
    double const low = value(x);
    x[i] = before;
    REQUIRE(dx[i] == doctest::Approx((high - low) / (2 * h)).epsilon(1e-6));
  }
}

}  // namespace

TEST_CASE("each position has the mean of all values, weighted by the softmax of its scores") { compare<false>(); }
TEST_CASE("causal: of the values up to its own") { compare<true>(); }
TEST_CASE("heads of a group share keys and values") {
  compare<false, 2>();
  compare<true, 3>();
  compare<true, 6>();
}
TEST_CASE("large scores do not overflow") {
  static constexpr op::Local l = test::local<op::Attend<false>>(1, Shape(2, 3, 1, 1));
  std::vector<float> const x{1000, 1000, 5, 1000, -1000, 7};
  auto y = test::zeros(2), aux = test::zeros(2);
  op::Operands<float> t;
  t.x = x.data();
  t.y = y.data();
  t.aux = aux.data();
  op::Attend<false>::forward<l>(test::Serial{}, t);
  CHECK(y[0] == 5);
  CHECK(y[1] == 5);
}
TEST_CASE("columns of the products are heads, in PyTorch's order") {
  using Into = op::IntoHeads<2, op::Start::He>;
  static_assert(Into::output(Shape(5, 6)) == Shape(5, 3, 2, 3));
  static_assert(Into::weight(0, Shape(5, 6)).shape == Shape(6, 3, 2, 3));
  static_assert(op::OutOfHeads<op::Start::He>::output(Shape(5, 2, 3)) == Shape(5, 6));
  static_assert(op::OutOfHeads<op::Start::He>::weight(0, Shape(5, 2, 3)).shape == Shape(2, 3, 6));
  constexpr op::Local half = Into::as({2, 4, Shape(5, 6), {}, Shape(5, 3, 1, 3), Shape(6, 3, 1, 3), {}});  // one head
  static_assert(half.rows == 10 && half.x == Shape(6) && half.y == Shape(9) && half.w0 == Shape(6, 9));
  using Grouped = op::IntoHeads<8, op::Start::He, 2>;  // of four queries each
  static_assert(Grouped::output(Shape(5, 16)) == Shape(5, 6, 2, 2));
  static_assert(Grouped::weight(0, Shape(5, 16)).shape == Shape(16, 6, 2, 2));
  static_assert(Grouped::weight(0, Shape(5, 16)).fan_out == 24);
}
