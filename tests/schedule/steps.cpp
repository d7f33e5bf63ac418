// schedule/steps.cpp - the steps of a plan, read as a story.
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

// A batch norm reads a sum over the batch: taken once forward, once back.
struct Normed : Sequential<Vector<8>, BatchNorm, Linear<2, NoBias>, CrossEntropy> {};
struct NormedPlan : Plan<Normed, Batch<8>, DataParallel<Sync>> {};
static_assert(story<NormedPlan>({Forward, Sum, Forward, Forward, Forward, BackwardInput, BackwardInput, BackwardWeight,
                                 Start, BackwardWeight, SumBack, Start, Update, Update}));

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
