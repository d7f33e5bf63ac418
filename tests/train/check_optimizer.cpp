// train/check_optimizer.cpp - an optimizer that is wrong is found out, and told what is wrong with it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

struct SignMomentum : optim::Optimizer<SignMomentum, 1> {
  static constexpr float momentum = 0.9f, default_rate = 0.001f;
  template <class P, class A> CLEAVE_HD static void step(A& w, A g, A& v, A&, optim::Now<A> const& now) {
    v = optim::multiply_add(A(P::momentum), v, g);
    w = optim::multiply_add(-now.rate, v > A{0} ? A{1} : v < A{0} ? A{-1} : A{0}, w);
  }
};
/// Keeps one number and writes two.
struct Greedy : optim::Optimizer<Greedy, 1> {
  template <class P, class A> static void step(A& w, A g, A& v, A& u, optim::Now<A> const& now) {
    v = g, u = v;
    w -= now.rate * g;
  }
};
/// Counts its calls where no checkpoint looks.
struct Counting : optim::Optimizer<Counting, 0> {
  static inline thread_local long calls = 0;
  template <class P, class A> static void step(A& w, A g, A&, A&, optim::Now<A> const& now) {
    w -= now.rate * g / static_cast<A>(1 + ++calls);
  }
};
struct Uphill : optim::Optimizer<Uphill, 0> {
  template <class P, class A> static void step(A& w, A g, A&, A&, optim::Now<A> const& now) { w += now.rate * g; }
};

}  // namespace

TEST_CASE("optimizers that are right") {
  CHECK(check_optimizer<SignMomentum>().text == "right");
  CHECK(check_optimizer<AdamW>().text == "right");
  CHECK(check_optimizer<Nesterov>().text == "right");
}
TEST_CASE("one that writes more numbers than it keeps") {
  CHECK(check_optimizer<Greedy>().text == "step writes its second number, but keeps 1: say optim::Optimizer<Self, 2>");
}
TEST_CASE("one that keeps something elsewhere") {
  CheckReport const r = check_optimizer<Counting>();
  CHECK(!r);
  CHECK(r.text.find("has other bits: does it keep something outside of its numbers?") != std::string::npos);
}
TEST_CASE("one that climbs") {
  CheckReport const r = check_optimizer<Uphill>();
  CHECK(!r);
  CHECK(r.text.find("at its default_rate, 0.01, the loss goes from ") == 0);
}
