// plan/members.cpp - members that are read are let through, and no name of the user's own optimizer is in question.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/layer/input.hpp>
#include <cleave/layer/loss.hpp>
#include <cleave/layer/sequential.hpp>
#include <cleave/plan/plan.hpp>

using namespace cleave;

namespace {

struct Net : Sequential<Vector<6>, Linear<4>, CrossEntropy> {};
struct Clipped : AdamW {
  static constexpr float clip_norm = 1, beta1 = 0.8f, weight_decay = 0.1f;
};
struct Mine : optim::Optimizer<Mine, 0> {
  static constexpr float lr = 1, beta = 0.5f;
};
struct MineAgain : Mine {
  static constexpr float lr = 2;
};
struct Slow : Sgd {
  static constexpr float momentum = 0.9f;
};
struct Good : Plan<Net, Batch<8>, Clipped> {
  static constexpr Rate rate = Rate::constant(0.1f);
  static constexpr long epochs = 8;
  static void delay(int, long) {}
};
struct Variable : Plan<Net, Batch<8>, MineAgain> {
  static inline int epochs = 8;
};
struct Misspelt : Plan<Net, Batch<8>, Slow> {
  static constexpr int epoch = 8;
};
struct Wrong : Plan<Net, Batch<8>, Slow> {};
struct Hidden : Plan<Net, Batch<8>> {
  static constexpr int batch = 16;
};
template <class P> constexpr bool known = meta::holds<plan::law_of_members<P>>;

}  // namespace

TEST_CASE("known members are let through, likely slips are not") {
  CHECK(known<Good>);
  CHECK(known<Variable>);
  CHECK_FALSE(known<Misspelt>);
  CHECK_FALSE(known<Wrong>);
  CHECK_FALSE(known<Hidden>);
  CHECK(std::is_same_v<plan::member::slip_of_a_plan<Misspelt>, plan::member::epoch>);
  CHECK(std::is_same_v<plan::member::slip_of_an_optimizer<Slow, Sgd>, plan::member::momentum>);
}
