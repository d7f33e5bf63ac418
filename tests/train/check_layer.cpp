// train/check_layer.cpp - a layer that is wrong is found out, and told what is wrong with it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/check_layer.hpp>

using namespace cleave;

namespace {

struct Square {
  static constexpr auto name = "square";
  static constexpr bool from_output = false;
  template <class A> CLEAVE_HD static A forward(A x) { return x * x; }
  template <class A> CLEAVE_HD static A slope(A x) { return 2 * x; }
};
struct Hasty : Square {
  template <class A> CLEAVE_HD static A slope(A x) { return x; }
};

/// Adds one in a rank's first slice, of which a layer must not know.
struct Slicewise : op::Map<Square> {
  static constexpr bool pointwise = false;  // else all slices are one loop
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long i) { t.y[i] = t.x[i] + (t.where.first_slice ? T{1} : T{0}); });
  }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long i) { t.dx[i] = t.dy[i]; });
  }
};

/// A join of one's own, x * x2 + x, whose way back reads both inputs.
struct Modulate : op::Base {
  static constexpr auto name = "modulate";
  static constexpr auto equation = "b*->b*";
  static constexpr int inputs = 2;
  static constexpr bool reads_x = true, elementwise = true, pointwise = true;
  static constexpr Shape output(Shape x) { return x; }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long i) { t.y[i] = t.x[i] * t.x2[i] + t.x[i]; });
  }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long i) {
      T const x = t.x[i], x2 = t.x2[i], dy = t.dy[i];
      if (t.dx) t.dx[i] = dy * (x2 + T{1});
      if (t.dx2) t.dx2[i] = dy * x;
    });
  }
};

template <class L> CheckReport checked() { return check_layer<L, Vector<6>>(); }

}  // namespace

TEST_CASE("a layer of one's own that is right") { CHECK(checked<Elementwise<Square>>().text == "right"); }

// The sum is taken in the step that makes its other summand, which must not stand where the sum still reads.
TEST_CASE("residuals around a lone operation: an activation, a dropout, a bias") {
  CHECK(check_layer<Residual<Tanh>, Vector<6>>().text == "right");
  CHECK(check_layer<Residual<Dropout<30>>, Vector<6>>().text == "right");
  CHECK(check_layer<Residual<layer::Chain<op::Bias>>, Vector<6>>().text == "right");
  CHECK(check_layer<Residual<Residual<Sigmoid>, Tanh>, Vector<6>>().text == "right");
}

// On the way back gradients of linked products' inputs come before those of weights, which must still find theirs.
TEST_CASE("narrow products beside each other, behind a bias of its own, in residuals") {
  using Bias = layer::Chain<op::Bias>;
  CHECK(checked<Branches<Plus, Linear<6, NoBias>, Path<Bias, Linear<6, NoBias>>>>().text == "right");
  CHECK(checked<Branches<Concat, Linear<5>, Path<Bias, Tanh, Linear<6>>>>().text == "right");
  CHECK(checked<Path<Linear<6>, Branches<Plus, Linear<6, NoBias>, Path<Bias, Linear<6>>>>>().text == "right");
  CHECK(checked<Residual<Bias, Linear<6>, Residual<Linear<6>, Tanh>, Bias>>().text == "right");
}

TEST_CASE("a join of one's own may read its second input on the way back") {
  CHECK(checked<Branches<Modulate, Path<Linear<6>>, Path<Linear<4>, Tanh, Linear<6>>>>().text == "right");
  CHECK(checked<Branches<Modulate, Path<Tanh, Linear<6>>, Path<Linear<6, NoBias>>>>().text == "right");
}

TEST_CASE("half a slope is no gradient") {
  CheckReport const report = checked<Elementwise<Hasty>>();
  CHECK(!report);
  CHECK(report.text.find("check_layer: gradient of the input at 0 is ") == 0);
  CHECK(report.text.find("differences say ") != std::string::npos);
}

TEST_CASE("what depends on how the batch is cut is told by the number of replicas") {
  CheckReport const report = checked<layer::Chain<Slicewise>>();
  CHECK(!report);
  CHECK(report.text.find("two replicas: ") == 0);
}
