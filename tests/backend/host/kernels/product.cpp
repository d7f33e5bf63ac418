// tests/backend/host/kernels/product.cpp - the host's matrix product against its definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cstring>

#include <cleave/backend/host/kernels/product.hpp>

#include "../compare.hpp"

namespace {

using namespace test;

template <class T, int B, int I, int O> void check() {
  using E = tensor::accumulate_t<T>;
  using Op = op::Product<O>;
  using K = host::Kernel<Op>;
  CAPTURE(B);
  CAPTURE(I);
  CAPTURE(O);
  constexpr op::Local L{B, B, Shape(I), Shape(), Shape(O), Shape(I, O), Shape()};
  auto const x = numbers<T>(long{B} * I, 1), w = numbers<T>(long{I} * O, 2), dy = numbers<T>(long{B} * O, 3);
  auto const bias = numbers<T>(O, 4);
  auto y = dy, dx = x;
  std::vector<E> dw(w.size());
  op::Operands<T> t;
  t.x = x.data(), t.w0 = w.data(), t.dy = dy.data(), t.bias = bias.data();
  t.y = y.data(), t.dx = dx.data(), t.dw0 = dw.data();
  Op::template forward<L>(Serial{}, t);
  Op::template backward_input<L>(Serial{}, t);
  Op::template backward_weight<L>(Serial{}, t);
  auto const right_y = y, right_dx = dx;
  auto const right_dw = dw;

  Workspace const space;
  on_every_isa([&] {
    y = poisoned<T>(long{B} * O), dx = poisoned<T>(long{B} * I), dw = poisoned<E>(long{I} * O);
    t.y = y.data(), t.dx = dx.data(), t.dw0 = dw.data();
    K::template forward<L, false, void>(space, t);
    K::template backward_input<L>(space, t);
    K::template backward_weight<L>(space, t);
    CHECK(error(y, right_y, I) < 1);
    CHECK(error(dx, right_dx, O) < 1);
    CHECK(error(dw, right_dw, B) < 1);

    auto ended = poisoned<T>(long{B} * O);
    t.y = ended.data();
    K::template forward<L, true, Relu>(space, t);
    t.y = y.data();
    if constexpr (std::is_same_v<T, E>) {
      for (std::size_t e = 0; e < y.size(); ++e) y[e] = Relu::forward(y[e] + bias[e % O]);
      CHECK(ended == y);
    }
    if constexpr (!host::by_library<T>) {
      auto stepped = poisoned<E>(long{I} * O);
      K::template update_weight<L>(
          space, t, [&](long at, int count, E const* g) { std::copy_n(g, count, stepped.begin() + at); });
      CHECK(stepped == dw);
    }
  });
}

}  // namespace

TEST_CASE("host product: f32") {
  check<f32, 1, 64, 64>();
  check<f32, 1, 37, 10>();
  check<f32, 32, 128, 10>();
  check<f32, 8, 401, 129>();
  check<f32, 70, 31, 257>();
}

TEST_CASE("host product: f64, bf16, f16, tf32 and fp8") {
  check<f64, 5, 67, 19>();
  check<bf16, 9, 301, 33>();
  check<f16, 9, 301, 33>();
  check<tf32, 9, 301, 33>();
  check<tf32, 1, 37, 10>();
  check<tf32, 70, 31, 257>();
  check<fp8, 9, 301, 33>();
  check<fp8, 1, 37, 10>();
  check<fp8, 1, 64, 64>();
  check<fp8, 70, 31, 257>();
}

namespace {

/// All slices by one call, against each alone.
template <class T, int Rows, int Slices, int I, int O> void check_slices() {
  CAPTURE(Rows);
  CAPTURE(I);
  CAPTURE(O);
  using E = tensor::accumulate_t<T>;
  using K = host::Kernel<op::Product<O>>;
  static_assert(K::takes_slices);
  constexpr op::Local L{Rows, Rows * Slices, Shape(I), Shape(), Shape(O), Shape(I, O), Shape()};
  constexpr op::Local alone{Rows, Rows, Shape(I), Shape(), Shape(O), Shape(I, O), Shape()};
  constexpr long rows = long{Rows} * Slices;
  auto const x = numbers<T>(rows * I, 1), w = numbers<T>(long{I} * O, 2), dy = numbers<T>(rows * O, 3);
  auto const bias = numbers<T>(O, 4);
  Workspace const space;
  on_every_isa([&] {
    for (int there = 1; there <= Slices; ++there) {
      CAPTURE(there);
      auto y = poisoned<T>(rows * O), dx = poisoned<T>(rows * I), each_y = y, each_dx = dx;
      op::Operands<T> t;
      t.x = x.data(), t.w0 = w.data(), t.dy = dy.data(), t.bias = bias.data();
      for (int i = 0; i < there; ++i) {
        t.y = each_y.data(), t.dx = each_dx.data();
        op::Operands<T> const one = op::slice_of<L>(t, i, 0);
        K::template forward<alone, true, Relu>(space, one);
        K::template backward_input<alone>(space, one);
      }
      t.y = y.data(), t.dx = dx.data(), t.slices = there;
      K::template forward<L, true, Relu>(space, t);
      K::template backward_input<L>(space, t);
      CHECK(std::memcmp(y.data(), each_y.data(), y.size() * sizeof(T)) == 0);
      CHECK(std::memcmp(dx.data(), each_dx.data(), dx.size() * sizeof(T)) == 0);
    }
    if constexpr (K::template sums_slices<L, T>) {
      std::vector<E> sum = poisoned<E>(long{I} * O), wanted = sum, next = sum;
      op::Operands<T> t;
      t.x = x.data(), t.dy = dy.data(), t.slices = Slices;
      host::Branches<E> to{};
      to.dw0 = {sum.data(), nullptr, 0, 0, 1};
      for (int i = 0; i < Slices; ++i) {  // one after the other
        op::Operands<T> one = op::slice_of<L>(t, i, 0);
        one.dw0 = i == 0 ? wanted.data() : next.data();
        K::template backward_weight<alone>(space, one);
        for (std::size_t e = 0; i > 0 && e < sum.size(); ++e) wanted[e] += next[e];
        REQUIRE(to.push(i > 0));
      }
      K::template sum<L>(space, t, to);
      CHECK(sum == wanted);
    }
  });
}

}  // namespace

TEST_CASE("host product: several slices by one call have the bits of each alone") {
  check_slices<f32, 8, 5, 401, 129>();
  check_slices<f32, 8, 4, 64, 96>();  // the weights are read where they lie when few rows are there
  check_slices<f32, 1, 4, 64, 64>();
  check_slices<f32, 11, 3, 37, 10>();
  check_slices<f32, 2, 4, 1000, 33>();
  check_slices<f64, 5, 3, 67, 19>();
  check_slices<bf16, 9, 4, 901, 70>();
  check_slices<tf32, 4, 4, 301, 33>();
  check_slices<fp8, 4, 3, 67, 35>();
  check_slices<bf16, 200, 2, 700, 40>();  // more rows than are packed at once
}

namespace {

/// A step that takes outer products, and keeps the gradient.
template <class E> struct KeepsProduct {
  static constexpr bool takes_products = true;
  std::vector<E>& gradient;
  template <class G> void operator()(long at, long count, G g) const {
    for (long i = 0; i < count; ++i) gradient[static_cast<std::size_t>(at + i)] = g[i];
  }
};

template <class T, int I, int O> void check_outer() {
  using E = tensor::accumulate_t<T>;
  using K = host::Kernel<op::Product<O>>;
  constexpr op::Local L{1, 1, Shape(I), Shape(), Shape(O), Shape(I, O), Shape()};
  auto const x = numbers<T>(I, 1), dy = numbers<T>(O, 3);
  Workspace const space;
  op::Operands<T> t;
  t.x = x.data(), t.dy = dy.data();
  auto stored = poisoned<E>(long{I} * O), kept = stored;
  t.dw0 = stored.data();
  K::template backward_weight<L>(space, t);
  if constexpr (!host::by_library<T>) {  // a library stores the gradient
    K::template update_weight<L>(space, t, KeepsProduct<E>{kept});
    CHECK(kept == stored);
  }
}

}  // namespace

TEST_CASE("host product: the gradient of one sample, which is not stored, has the bits of the one that is") {
  check_outer<f32, 37, 64>();
  check_outer<f32, 784, 128>();
  check_outer<f32, 37, 10>();
  check_outer<f64, 9, 16>();
  check_outer<bf16, 9, 32>();
}

#ifndef CLEAVE_ONEDNN  // which promises no such thing: its bits differ with the rows on some processors
TEST_CASE("host product: a row's bits do not depend on the rows beside it") {
  constexpr int I = 300, O = 75;
  Workspace const space;
  auto const x = numbers<f32>(33 * I, 1), w = numbers<f32>(I * O, 2);
  constexpr op::Local all{33, 33, Shape(I), Shape(), Shape(O), Shape(I, O), Shape()};
  constexpr op::Local one{1, 33, Shape(I), Shape(), Shape(O), Shape(I, O), Shape()};
  on_every_isa([&] {
    auto y = poisoned<f32>(33 * O), row = poisoned<f32>(O);
    op::Operands<f32> t;
    t.x = x.data(), t.w0 = w.data(), t.y = y.data();
    host::Kernel<op::Product<O>>::forward<all, false, void>(space, t);
    t.x = x.data() + 32 * I, t.y = row.data();
    host::Kernel<op::Product<O>>::forward<one, false, void>(space, t);
    CHECK(std::equal(row.begin(), row.end(), y.end() - O));
  });
}
#endif

TEST_CASE("host product: tf32 multiplies what is rounded, and keeps what is not") {
  constexpr op::Local L{2, 2, Shape(4), Shape(), Shape(32), Shape(4, 32), Shape()};
  float const fine = 1 + 0x1p-11f;  // a tie, away from zero
  std::vector<tf32> x(8, tf32(fine)), w(128, tf32(1 + 0x1p-12f)), y(64);
  Workspace const space;
  on_every_isa([&] {
    op::Operands<tf32> t;
    t.x = x.data(), t.w0 = w.data(), t.y = y.data();
    host::Kernel<op::Product<32>>::forward<L, false, void>(space, t);
    for (tf32 v : y) CHECK(v.value == 4 * (1 + 0x1p-10f));
    CHECK(x[0].value == fine);
  });
}

namespace {

/// What 8 bits leave of a tensor, in f64: at the largest power of two that keeps it within `most`.
std::vector<double> in_eight_bits(std::vector<fp8> const& v, int fraction, int least_exponent, double most) {
  double largest = 0, scale = 0x1p96;
  for (fp8 x : v) largest = std::max(largest, std::fabs(static_cast<double>(x)));
  while (largest * scale > most) scale /= 2;
  std::vector<double> all;
  for (fp8 x : v) {
    double const up = static_cast<double>(x) * scale;
    double const unit = std::ldexp(1., (up != 0 ? std::max(std::ilogb(up), least_exponent) : 0) - fraction);
    all.push_back(std::nearbyint(up / unit) * unit / scale);
  }
  return all;
}

}  // namespace

TEST_CASE("host product: fp8 multiplies e4m3 by e4m3 forward, e5m2 by e4m3 backward, each at a scale of its own") {
  constexpr int B = 9, I = 67, O = 35;
  constexpr op::Local L{B, B, Shape(I), Shape(), Shape(O), Shape(I, O), Shape()};
  auto x = numbers<fp8>(B * I, 1), w = numbers<fp8>(I * O, 2), dy = numbers<fp8>(B * O, 3);
  for (auto* v : {&x, &w, &dy}) {  // down to subnormals and below
    for (std::size_t i = 0; i < v->size(); ++i) {
      int const by = v == &dy ? -40 - static_cast<int>(i % 36) : v == &w ? -3 - static_cast<int>(i % 19) : 9;
      (*v)[i] = fp8(std::ldexp(static_cast<float>((*v)[i]), by));
    }
  }
  auto const ex = in_eight_bits(x, 3, -6, 448), ew = in_eight_bits(w, 3, -6, 448),
             ed = in_eight_bits(dy, 2, -14, 57344);
  std::vector<double> y(B * O), dx(B * I), dw(I * O);
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t i = 0; i < I; ++i) {
      for (std::size_t o = 0; o < O; ++o) {
        y[b * O + o] += ex[b * I + i] * ew[i * O + o];
        dx[b * I + i] += ed[b * O + o] * ew[i * O + o];
        dw[i * O + o] += ex[b * I + i] * ed[b * O + o];
      }
    }
  }
  Workspace const space;
  on_every_isa([&] {
    auto got_y = poisoned<fp8>(B * O), got_dx = poisoned<fp8>(B * I);
    auto got_dw = poisoned<f32>(I * O);
    op::Operands<fp8> t;
    t.x = x.data(), t.w0 = w.data(), t.dy = dy.data();
    t.y = got_y.data(), t.dx = got_dx.data(), t.dw0 = got_dw.data();
    using K = host::Kernel<op::Product<O>>;
    K::forward<L, false, void>(space, t);
    K::backward_input<L>(space, t);
    K::backward_weight<L>(space, t);
    auto const far = [](auto const& got, std::vector<double> const& wanted) {
      double most = 0, apart = 0;
      for (double v : wanted) most = std::max(most, std::fabs(v));
      for (std::size_t i = 0; i < got.size(); ++i)
        apart = std::max(apart, std::fabs(static_cast<double>(got[i]) - wanted[i]));
      return apart / most;
    };
    CHECK(far(got_dw, dw) < 1e-6);
    CHECK(far(got_y, y) < 0x1p-8);
    CHECK(far(got_dx, dx) < 0x1p-8);
  });
}

TEST_CASE("host product: what is not finite is found in fp8, and spoils no other row") {
  constexpr op::Local L{2, 2, Shape(40), Shape(), Shape(32), Shape(40, 32), Shape()};
  Workspace const space;
  for (float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<fp8> x(80, fp8(1)), w(40 * 32, fp8(2)), y(64);
    x[5] = fp8(bad);
    on_every_isa([&] {
      op::Operands<fp8> t;
      t.x = x.data(), t.w0 = w.data(), t.y = y.data();
      host::Kernel<op::Product<32>>::forward<L, false, void>(space, t);
      for (std::size_t o = 0; o < 32; ++o) {
        CHECK(!std::isfinite(static_cast<float>(y[o])));
        CHECK(static_cast<float>(y[32 + o]) == 80);
      }
    });
  }
}
