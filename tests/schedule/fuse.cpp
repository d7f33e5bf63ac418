// schedule/fuse.cpp - what is done in the step of another instruction, and which products are linked row by row.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;
using enum schedule::Do;

namespace {

template <class P> constexpr int steps_of(schedule::Do what) {
  int n = 0;
  for (int k = 0; k < P::schedule.steps; ++k) n += P::schedule.step[k].what == what;
  return n;
}

// Bias and map are done with their product.
struct Net : Sequential<Vector<8>, Linear<4>, Relu, Linear<2>, CrossEntropy> {};
struct Plain : Plan<Net, Batch<8>> {};
static_assert(Plain::fused.bias[0] == 1 && Plain::fused.map[0] == 2 && Plain::fused.bias[3] == 4);
static_assert(Plain::fused.map[3] == -1 && Plain::fused.head[2] == 0 && Plain::fused.head[5] == 5);
static_assert(Plain::fused.forward_count == 3);

// Small products behind each other are linked, forward and back; a large one is not.
static_assert(Plain::fused.linked[1] && !Plain::fused.linked[0] && !Plain::fused.linked[2]);
struct Large : Sequential<Vector<8>, Linear<schedule::most_narrow + 1>, Linear<2>, CrossEntropy> {};
struct LargePlan : Plan<Large, Batch<8>> {};
static_assert(!LargePlan::fused.linked[1]);

// What is done element by element goes along with what makes the elements: here a dropout and the residual's sum, and
// back the dropout. Of a value that is read twice two gradients are added, where the second is made, and then go on.
struct Chain : Sequential<Vector<8>, Linear<8>, Relu, Dropout<20>, Residual<Linear<8>, Tanh, Dropout<10>>, Linear<2>,
                          CrossEntropy> {};
struct ChainPlan : Plan<Chain, Batch<8>> {};
static_assert(steps_of<ChainPlan>(Forward) == 4);
static_assert(steps_of<ChainPlan>(BackwardInput) == 5 && steps_of<ChainPlan>(Add) == 0);  // of eleven operations
static_assert(ChainPlan::fused.forward_tail[0] == 1 && ChainPlan::fused.in_forward_tail[3]);

template <class P> constexpr int added(bool along) {
  int n = 0;
  for (int k = 0; along && k < P::placed.count; ++k) n += P::schedule.adds[k];
  return along ? n : steps_of<P>(Add);
}
// The residual's product adds its part to the gradient that the sum has made.
struct Res : Sequential<Vector<8>, Linear<8>, Residual<Linear<8>>, CrossEntropy> {};
struct ResPlan : Plan<Res, Batch<8>> {};
static_assert(added<ResPlan>(true) == 1 && added<ResPlan>(false) == 0);

// A residual around a residual: the inner one's sum hands on two gradients, and one of them is the second of a value.
struct Twice : Sequential<Vector<8>, Linear<8>, Residual<Residual<Tanh>>, CrossEntropy> {};
struct TwicePlan : Plan<Twice, Batch<8>> {};
static_assert(added<TwicePlan>(true) == 1 && added<TwicePlan>(false) == 1);

/// How often instruction i of a pass is in the order or fused to one that is.
template <class P> int done(bool back, int i) {
  auto const& fused = P::fused;
  int n = 0;
  for (int k = back ? fused.forward_count : 0; k < (back ? fused.count : fused.forward_count); ++k) {
    n += fused.order[k] == i;
  }
  schedule::Instruction const& of = back ? P::adjoints.at[i] : P::forward_pass.at[i];
  if (!back) return n + (fused.head[of.node] != of.node) + fused.in_forward_tail[of.node];
  if (of.what == BackwardInput) n += fused.in_backward_tail[of.node];
  if (of.what == Add && i > 0 && P::adjoints.at[i - 1].what == BackwardInput)
    n += fused.adds[P::adjoints.at[i - 1].node];
  return n;
}
template <class P> void everything_is_done_once() {
  for (int i = 0; i < P::forward_pass.count; ++i) CHECK(done<P>(false, i) == 1);
  for (int i = 0; i < P::adjoints.count; ++i) CHECK(done<P>(true, i) == 1);
}

}  // namespace

TEST_CASE("every instruction is done once, in a step of its own or in another's") {
  everything_is_done_once<Plain>();
  everything_is_done_once<ChainPlan>();
  everything_is_done_once<ResPlan>();
  everything_is_done_once<TwicePlan>();
}
