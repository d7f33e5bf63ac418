// train/check_loss.cpp - a loss that is wrong is found out, and told what is wrong with it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

struct QuarticFunction {
  static constexpr auto name = "quartic";
  static constexpr auto target = op::Target::Either;
  template <class A> CLEAVE_HD static A loss(A x, A t) { return (x - t) * (x - t) * (x - t) * (x - t); }
  template <class A> CLEAVE_HD static A slope(A x, A t) { return A{4} * (x - t) * (x - t) * (x - t); }
};
struct HalfFunction : QuarticFunction {
  template <class A> CLEAVE_HD static A slope(A x, A t) { return A{2} * (x - t) * (x - t) * (x - t); }
};
/// Forgets the target on the way back.
struct TargetlessFunction : QuarticFunction {
  template <class A> CLEAVE_HD static A slope(A x, A) { return A{4} * x * x * x; }
};
template <class F> struct Of : layer::Chain<op::FeatureLoss<F>> {};

/// Counts a rank's first slice twice.
struct TwiceOp : op::SoftmaxCrossEntropy {
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, op::Operands<T> const& t) {
    op::SoftmaxCrossEntropy::forward<L>(ctx, t);
    if (t.where.first_slice) *t.loss *= 2;
  }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, op::Operands<T> t) {
    if (t.where.first_slice) t.scale *= 2;
    op::SoftmaxCrossEntropy::backward_input<L>(ctx, t);
  }
};
struct Twice : layer::Chain<TwiceOp> {};

}  // namespace

TEST_CASE("losses that are right: of classes, of numbers, of positions") {
  CHECK(check_loss<Of<QuarticFunction>, Vector<5>>().text == "right");
  CHECK(check_loss<CrossEntropy, Vector<5>>().text == "right");
  CHECK(check_loss<SmoothedCrossEntropy<10>, Vector<5>>().text == "right");
  CHECK(check_loss<BinaryCrossEntropy, Image<2, 2, 2>>().text == "right");
  CHECK(check_loss<PerPosition<CrossEntropy>, Sequence<3, 5>>().text == "right");
}
TEST_CASE("half a slope, and one without the target") {
  CheckReport const half = check_loss<Of<HalfFunction>, Vector<5>>();
  CHECK(!half);
  CHECK(half.text.find("check_loss with classes: gradient of weight 0 at 0 is ") == 0);
  CHECK(half.text.find("differences say ") != std::string::npos);
  CHECK(!check_loss<Of<TargetlessFunction>, Vector<5>>());
}
TEST_CASE("a loss that depends on how the batch is cut") {
  CheckReport const twice = check_loss<Twice, Vector<5>>();
  CHECK(!twice);
  CHECK(twice.text.find("two replicas with classes: loss ") == 0);
}
