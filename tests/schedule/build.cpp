// schedule/build.cpp - the schedule of a plan, read as a story.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;
using enum schedule::Do;

namespace {

struct Net : Sequential<Vector<8>, Linear<4>, Relu, Linear<2>, CrossEntropy> {};
struct Replicas : Plan<Net, Batch<8>, DataParallel<Sync>> {};

template <class P> constexpr bool story(std::initializer_list<schedule::Do> wanted) {
  if (static_cast<int>(wanted.size()) != P::schedule.steps) return false;
  int k = 0;
  for (schedule::Do d : wanted) {
    if (P::schedule.step[k++].what != d) return false;
  }
  return true;
}

// Product, bias and relu are one step, and so is the way back through product and relu. A layer's gradients start on
// their way before the layer below begins.
static_assert(story<Replicas>({Forward, Forward, Forward,              //
                               BackwardInput,                          // the loss
                               BackwardWeight,                         // 2: bias; its input's gradient is its own
                               BackwardInput, BackwardWeight, Start,   // 2: product, and through the relu
                               BackwardWeight, BackwardWeight, Start,  // 0
                               Update, Update}));

struct Halves : Plan<Net, Batch<8>, ModelParallel<SplitColsRows>> {};
static_assert(story<Halves>({Forward, Forward, Convert, Forward, Forward,  // the sum, then the bias on the whole
                             BackwardInput, BackwardWeight, BackwardInput, BackwardWeight, Start, BackwardWeight,
                             BackwardWeight, Start, Update, Update}));

// What is done element by element goes along with what makes the elements: here a dropout and the residual's sum, and
// back the dropout. Of a value that is read twice two gradients are added, where the second is made, and then go on.
struct Chain : Sequential<Vector<8>, Linear<8>, Relu, Dropout<20>, Residual<Linear<8>, Tanh, Dropout<10>>, Linear<2>,
                          CrossEntropy> {};
struct ChainPlan : Plan<Chain, Batch<8>> {};
constexpr int steps_of(schedule::Do what) {
  int n = 0;
  for (int k = 0; k < ChainPlan::schedule.steps; ++k) n += ChainPlan::schedule.step[k].what == what;
  return n;
}
static_assert(steps_of(Forward) == 4);
static_assert(steps_of(BackwardInput) == 5 && steps_of(Add) == 0);  // of eleven operations

// A batch norm reads a sum over the batch: taken once forward, once back.
struct Normed : Sequential<Vector<8>, BatchNorm, Linear<2, NoBias>, CrossEntropy> {};
struct NormedPlan : Plan<Normed, Batch<8>, DataParallel<Sync>> {};
static_assert(story<NormedPlan>({Forward, Sum, Forward, Forward, Forward, BackwardInput, BackwardInput, BackwardWeight,
                                 Start, BackwardWeight, SumBack, Start, Update, Update}));

// The residual's product adds its part to the gradient that the sum has made.
struct Res : Sequential<Vector<8>, Linear<8>, Residual<Linear<8>>, CrossEntropy> {};
struct ResPlan : Plan<Res, Batch<8>> {};
template <class P> constexpr int added(bool along) {
  int n = 0;
  for (int k = 0; along && k < P::placed.count; ++k) n += P::schedule.adds[k];
  for (int k = 0; !along && k < P::schedule.steps; ++k) n += P::schedule.step[k].what == Add;
  return n;
}
static_assert(added<ResPlan>(true) == 1 && added<ResPlan>(false) == 0);

// A residual around a residual: the inner one's sum hands on two gradients, and one of them is the second of a value.
struct Twice : Sequential<Vector<8>, Linear<8>, Residual<Residual<Tanh>>, CrossEntropy> {};
struct TwicePlan : Plan<Twice, Batch<8>> {};
static_assert(added<TwicePlan>(true) == 1 && added<TwicePlan>(false) == 1);

}  // namespace

TEST_CASE("every weight is in exactly one bucket, and every bucket starts once and is updated once") {
  auto const& s = NormedPlan::schedule;
  long next = 0;
  for (int b = 0; b < s.buckets; ++b) {
    CHECK(s.bucket[b].offset == next);
    next += s.bucket[b].count;
    int started = 0, updated = 0;
    for (int k = 0; k < s.steps; ++k) {
      started += s.step[k].what == Start && s.step[k].node == b;
      updated += s.step[k].what == Update && s.step[k].node == b;
    }
    CHECK(started == 1);
    CHECK(updated == 1);
  }
  CHECK(next == s.weight_elements);
}
