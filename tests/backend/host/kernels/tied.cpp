// tests/backend/host/kernels/tied.cpp - a product by the rows of a table, and the table's gradient, against their definitions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/backend/host/kernels/tied.hpp>

#include "../compare.hpp"

namespace {

using namespace test;

template <class T, int B, int I, int O> void check() {
  using E = tensor::accumulate_t<T>;
  using Op = op::TransposedProduct<O>;
  using K = host::Kernel<Op>;
  CAPTURE(B);
  CAPTURE(I);
  CAPTURE(O);
  constexpr op::Local L{B, B, Shape(I), Shape(), Shape(O), Shape(O, I), Shape()};
  static_assert(Op::weight(0, Shape(I)).shape == L.w0);
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
    if constexpr (std::is_same_v<T, E>) {
      auto ended = poisoned<T>(long{B} * O);
      t.y = ended.data();
      K::template forward<L, true, Relu>(space, t);
      for (std::size_t e = 0; e < y.size(); ++e) y[e] = Relu::forward(y[e] + bias[e % O]);
      CHECK(ended == y);
    }
  });
}

/// One call for several slices is a call for each.
template <int Rows, int Slices, int I, int O> void check_slices() {
  using K = host::Kernel<op::TransposedProduct<O>>;
  constexpr op::Local L{Rows, Rows * Slices, Shape(I), Shape(), Shape(O), Shape(O, I), Shape()};
  auto const x = numbers<float>(long{Rows} * Slices * I, 1), w = numbers<float>(long{I} * O, 2),
             dy = numbers<float>(long{Rows} * Slices * O, 3);
  auto y = poisoned<float>(long{Rows} * Slices * O), dx = poisoned<float>(long{Rows} * Slices * I);
  auto each_y = y, each_dx = dx;
  Workspace const space;
  op::Operands<float> t;
  t.x = x.data(), t.w0 = w.data(), t.dy = dy.data(), t.y = y.data(), t.dx = dx.data(), t.slices = Slices;
  K::template forward<L, false, void>(space, t);
  K::template backward_input<L>(space, t);
  t.y = each_y.data(), t.dx = each_dx.data(), t.slices = 1;
  for (int i = 0; i < Slices; ++i) {
    K::template forward<L, false, void>(space, op::slice_of<L>(t, i, 0));
    K::template backward_input<L>(space, op::slice_of<L>(t, i, 0));
  }
  CHECK(y == each_y);
  CHECK(dx == each_dx);
}

}  // namespace

TEST_CASE("a product by the rows of a table: f32, f64, bf16, f16, tf32 and fp8") {
  check<f32, 1, 64, 64>();
  check<f32, 1, 37, 10>();
  check<f32, 32, 10, 128>();
  check<f32, 70, 31, 257>();
  check<f64, 5, 67, 19>();
  check<bf16, 9, 301, 33>();
  check<f16, 9, 301, 33>();
  check<tf32, 9, 301, 33>();
  check<fp8, 9, 301, 33>();
}
TEST_CASE("several slices by one call") {
  check_slices<1, 5, 24, 40>();
  check_slices<6, 3, 24, 40>();
}
TEST_CASE("the gradient of a table that a product reads too has both parts; tokens of no row have none") {
  using Op = op::TiedLookup<11, 6>;
  constexpr op::Local L{2, 2, Shape(3), {}, Shape(3, 6), Shape(11, 6), {}};
  std::vector<std::int32_t> const tokens{4, 0, 4, 12, -1, 10};
  auto const x = numbers<float>(36, 1), reader_dy = numbers<float>(66, 2), dy = numbers<float>(36, 3);
  auto right = poisoned<float>(66), dw = right;
  op::Operands<float> reader, t;
  reader.x = x.data(), reader.dy = reader_dy.data();
  t.tokens = tokens.data(), t.dy = dy.data(), t.dw0 = right.data(), t.tail = &reader;
  Op::backward_weight<L>(Serial{}, t);
  t.dw0 = dw.data();
  Workspace const space;
  host::Kernel<Op>::backward_weight<L>(space, t);
  CHECK(error(dw, right, 8) < 1);
  for (std::size_t e = 0; e < 66; ++e) {
    double sum = 0;
    for (std::size_t k = 0; k < 6; ++k) {
      sum += static_cast<double>(reader_dy[k * 11 + e / 6]) * static_cast<double>(x[k * 6 + e % 6]);
      if (tokens[k] == static_cast<int>(e / 6)) sum += static_cast<double>(dy[k * 6 + e % 6]);
    }
    CHECK(static_cast<double>(right[e]) == doctest::Approx(sum).epsilon(1e-5).scale(1));
  }
}
