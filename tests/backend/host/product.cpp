// tests/backend/host/product.cpp - the host's matrix product against its definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/backend/host/product.hpp>

#include "compare.hpp"

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

TEST_CASE("host product: f64, bf16 and tf32") {
  check<f64, 5, 67, 19>();
  check<bf16, 9, 301, 33>();
  check<tf32, 9, 301, 33>();
  check<tf32, 1, 37, 10>();
  check<tf32, 70, 31, 257>();
}

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
