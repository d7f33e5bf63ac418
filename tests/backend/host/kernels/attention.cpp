// backend/host/kernels/attention.cpp - attention in blocks on the host against its definition in f64: all lengths, formats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/attention.hpp>
#include <cleave/schedule/arena.hpp>
#include <vector>

#include "../../../op/operation.hpp"
#include "definition.hpp"

using namespace cleave;

namespace {

template <class T> struct Tensors {
  std::vector<T> x, y, dy, dx;
  std::vector<tensor::accumulate_t<T>> aux;
  template <class Op> Tensors(Op, op::Local l) {
    x = test::drawn<T>(l.rows * l.x.size(), 0, -2, 4);
    dy = test::drawn<T>(l.rows * l.y.size(), 1, -2, 4);
    y.resize(dy.size());
    dx.resize(x.size());
    aux.resize(static_cast<std::size_t>(l.rows * Op::aux(l.x, l.y)));
  }
  op::Operands<T> operands() {
    op::Operands<T> t;
    t.x = x.data(), t.y = y.data(), t.dy = dy.data(), t.dx = dx.data(), t.aux = aux.data();
    return t;
  }
};

template <bool Causal, int Positions, int Width, class T, int Queries = 1> void compare(double tolerance) {
  using Op = op::Attend<Causal>;
  static constexpr op::Local l = test::local<Op>(2, Shape(Positions, Queries + 2, 2, Width));
  Tensors<double> wanted(Op{}, l);
  Tensors<T> tried(Op{}, l);
  Op::template forward<l>(test::Serial{}, wanted.operands());
  Op::template backward_input<l>(test::Serial{}, wanted.operands());
  std::vector<std::byte> room(schedule::workspace_bytes + 64);
  backend::host::Context const c{room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64)};
  using Kernel = backend::host::Kernel<Op>;
  Kernel::template forward<l, false, void>(c, tried.operands());
  test::check_near(tried.y, wanted.y, tolerance);
  test::check_near(tried.aux, wanted.aux, tolerance);
  Kernel::template backward_input<l>(c, tried.operands());
  test::check_near(tried.dx, wanted.dx, tolerance);
}

}  // namespace

TEST_CASE("sequences of one block") {
  compare<true, 1, 3, float>(1e-5);
  compare<true, 7, 5, float>(1e-5);
  compare<false, 64, 16, float>(1e-5);
  compare<true, 127, 8, double>(1e-12);
  compare<true, 64, 32, bf16>(8e-3);
  compare<true, 9, 8, fp8>(8e-3);  // stored as bf16, and multiplied so
  compare<true, 9, 8, tf32>(1e-5);
}
TEST_CASE("sequences of several blocks, the last of them shorter or not") {
  compare<true, 129, 8, float>(1e-5);
  compare<false, 192, 8, float>(1e-5);
  compare<true, 200, 16, bf16>(8e-3);
  compare<false, 131, 4, double>(1e-12);
}
TEST_CASE("heads that share keys and values, of one block and of several") {
  compare<true, 33, 8, float, 2>(1e-5);
  compare<false, 16, 8, bf16, 3>(8e-3);
  compare<true, 131, 4, double, 3>(1e-12);
  compare<false, 192, 8, float, 4>(1e-5);
}
