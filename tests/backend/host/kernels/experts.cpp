// backend/host/kernels/experts.cpp - the products of experts against their definition, and all slices against each alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cstring>

#include <cleave/backend/host/kernels/experts.hpp>

#include "../compare.hpp"

namespace {

using namespace test;

/// `Slices` slices of `Rows` samples, each with `Room` places at each expert.
template <class T, int Rows, int Slices, int Experts, int In, int Out, int Room> void check() {
  using E = tensor::accumulate_t<T>;
  using Op = op::ProductOfExperts<Out, Experts, op::Start::He>;
  using K = host::Kernel<Op>;
  CAPTURE(Rows);
  CAPTURE(Room);
  constexpr Shape x_shape(Experts * In, 1, Room), y_shape(Experts * Out, 1, Room), w_shape(Experts * Out, In, 1, 1);
  constexpr op::Local L{Rows, Rows * Slices, x_shape, Shape(), y_shape, w_shape, Shape()};
  constexpr op::Local alone{Rows, Rows, x_shape, Shape(), y_shape, w_shape, Shape()};
  constexpr long rows = long{Rows} * Slices;
  auto const x = numbers<T>(rows * x_shape.size(), 1), w = numbers<T>(w_shape.size(), 2),
             dy = numbers<T>(rows * y_shape.size(), 3);
  auto const bias = numbers<T>(Experts * Out, 4);
  op::Operands<T> t;
  t.x = x.data(), t.w0 = w.data(), t.dy = dy.data(), t.bias = bias.data();
  auto right_y = dy, right_dx = x;
  std::vector<E> right_dw(w.size());
  t.y = right_y.data(), t.dx = right_dx.data(), t.dw0 = right_dw.data();
  Op::template forward<alone>(Serial{}, t);
  Op::template backward_input<alone>(Serial{}, t);
  Op::template backward_weight<alone>(Serial{}, t);

  Workspace const space;
  on_every_isa([&] {
    auto y = poisoned<T>(rows * y_shape.size()), dx = poisoned<T>(rows * x_shape.size());
    auto each_y = y, each_dx = dx, plain = y;
    std::vector<E> dw = poisoned<E>(w_shape.size()), wanted = dw, next = dw;
    t.y = plain.data();
    K::template forward<alone, false, void>(space, t);
    host::Branches<E> to{};
    to.dw0 = {dw.data(), nullptr, 0, 0, 1};
    for (int i = 0; i < Slices; ++i) {
      t.y = each_y.data(), t.dx = each_dx.data(), t.slices = Slices;
      op::Operands<T> one = op::slice_of<L>(t, i, 0);
      one.dw0 = i == 0 ? wanted.data() : next.data();
      K::template forward<alone, true, Relu>(space, one);
      K::template backward_input<alone>(space, one);
      K::template backward_weight<alone>(space, one);
      if (i == 0) {
        auto const size = [](auto const& v) { return static_cast<long>(v.size()) / Slices; };
        auto const first = [&](auto const& v) { return std::vector<T>(v.begin(), v.begin() + size(v)); };
        CHECK(error(first(plain), first(right_y), In) < 1);
        CHECK(error(first(each_dx), first(right_dx), Out) < 1);
        CHECK(error(wanted, right_dw, Rows * Room) < 1);
        if constexpr (std::is_same_v<T, E>) {
          for (std::size_t e = 0; e < y.size() / Slices; ++e)
            REQUIRE(each_y[e] == Relu::forward(plain[e] + bias[e % (Experts * Out * Room) / Room]));
        }
      }
      for (std::size_t e = 0; i > 0 && e < dw.size(); ++e) wanted[e] += next[e];
      REQUIRE(to.push(i > 0));
    }
    t.y = y.data(), t.dx = dx.data(), t.slices = Slices;
    K::template forward<L, true, Relu>(space, t);
    K::template backward_input<L>(space, t);
    CHECK(std::memcmp(y.data(), each_y.data(), y.size() * sizeof(T)) == 0);
    CHECK(std::memcmp(dx.data(), each_dx.data(), dx.size() * sizeof(T)) == 0);
    if constexpr (K::template sums_slices<L, T>) {
      K::template sum<L>(space, t, to);
      CHECK(dw == wanted);
    }
  });
}

}  // namespace

TEST_CASE("host experts: f32, any places") {
  check<f32, 1, 4, 3, 32, 48, 20>();
  check<f32, 2, 3, 2, 37, 10, 7>();
  check<f32, 1, 2, 2, 8, 70, 1>();
  check<f32, 3, 1, 4, 16, 16, 33>();
}
TEST_CASE("host experts: f64, bf16, f16, tf32 and fp8") {
  check<f64, 1, 3, 2, 19, 21, 9>();
  check<bf16, 2, 2, 2, 32, 24, 12>();
  check<f16, 1, 3, 3, 17, 9, 5>();
  check<tf32, 2, 2, 2, 32, 24, 12>();
  check<fp8, 1, 3, 2, 32, 24, 12>();
}
