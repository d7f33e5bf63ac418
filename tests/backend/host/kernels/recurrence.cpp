// backend/host/kernels/recurrence.cpp - recurrent cells on the host, several samples and slices at once, against the definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/recurrence.hpp>
#include <cleave/schedule/arena.hpp>
#include <vector>

#include "../../../op/operation.hpp"
#include "definition.hpp"

using namespace cleave;

namespace {

constexpr int slices = 2;

template <class T> struct Tensors {
  using A = tensor::accumulate_t<T>;
  std::vector<T> x, w0, w1, y, dy, dx;
  std::vector<A> aux, dw0, dw1;
  template <class Op> Tensors(Op, op::Local l) {
    x = test::drawn<T>(slices * l.rows * l.x.size(), 0, -0.5f, 1);
    dy = test::drawn<T>(slices * l.rows * l.y.size(), 1, -0.5f, 1);
    w0 = test::drawn<T>(l.w0.size(), 2, -0.5f, 1);
    w1 = test::drawn<T>(l.w1.size(), 3, -0.5f, 1);
    y.resize(dy.size());
    dx.resize(x.size());
    aux.resize(static_cast<std::size_t>(slices * l.rows * Op::aux(l.x, l.y)));
    dw0.resize(w0.size());
    dw1.resize(w1.size());
  }
  op::Operands<T> operands() {
    op::Operands<T> t;
    t.x = x.data(), t.w0 = w0.data(), t.w1 = w1.data(), t.y = y.data(), t.dy = dy.data(), t.dx = dx.data();
    t.aux = aux.data(), t.dw0 = dw0.data(), t.dw1 = dw1.data();
    return t;
  }
};

template <class Cell, int Rows, int Units, class T, int Run = 0> void compare(double tolerance) {
  using Op = op::Recurrence<Cell, Units, Run>;
  static constexpr op::Local l = [] {
    op::Local of = test::local<Op>(Rows, Shape(5, Op::gates * Units));
    of.batch = slices * Rows;
    return of;
  }();
  Tensors<double> wanted(Op{}, l);
  Tensors<T> tried(Op{}, l);
  auto const slice = [&](auto const& t, int i) { return op::slice_of<l>(t, i, Op::aux(l.x, l.y)); };
  for (int i = 0; i < slices; ++i) Op::template forward<l>(test::Serial{}, slice(wanted.operands(), i));
  for (int i = 0; i < slices; ++i) Op::template backward_input<l>(test::Serial{}, slice(wanted.operands(), i));
  Op::template backward_weight<l>(test::Serial{}, slice(wanted.operands(), 1));
  std::vector<std::byte> room(schedule::workspace_bytes + 64);
  backend::host::Context const c{room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64)};
  using Kernel = backend::host::Kernel<Op>;
  op::Operands<T> all = tried.operands();
  all.slices = slices;
  Kernel::template forward<l, false, void>(c, all);
  test::check_near(tried.y, wanted.y, tolerance);
  Kernel::template backward_input<l>(c, all);
  test::check_near(tried.dx, wanted.dx, tolerance);
  Kernel::template backward_weight<l>(c, slice(tried.operands(), 1));
  test::check_near(tried.dw0, wanted.dw0, tolerance);
  test::check_near(tried.dw1, wanted.dw1, tolerance);
}

}  // namespace

TEST_CASE_TEMPLATE("forward, backward and the weights' gradients", Cell, op::RnnCell, op::LstmCell, op::GruCell) {
  compare<Cell, 3, 70, float>(1e-5);
  compare<Cell, 1, 9, float>(1e-5);
  compare<Cell, 4, 16, double>(1e-12);
  compare<Cell, 4, 16, double, 2>(1e-12);
  compare<Cell, 1, 9, double, 3>(1e-12);
  compare<Cell, 3, 33, bf16>(1.2e-2);
  compare<Cell, 3, 17, fp8>(1.2e-2);  // stored as bf16, and multiplied so
  compare<Cell, 3, 17, tf32>(1e-5);
}
