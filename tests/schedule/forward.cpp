// schedule/forward.cpp - the instructions of the forward pass: one for each operation and conversion that moves something.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;
using enum schedule::Do;

namespace {

template <class P> constexpr bool computes(std::initializer_list<schedule::Instruction> wanted) {
  if (static_cast<int>(wanted.size()) != P::forward_pass.count) return false;
  int k = 0;
  for (schedule::Instruction const& i : wanted) {
    if (!(P::forward_pass.at[k++] == i)) return false;
  }
  return true;
}

struct Net : Sequential<Vector<8>, Linear<4>, Relu, Linear<2>, CrossEntropy> {};
struct Whole : Plan<Net, Batch<8>> {};
static_assert(computes<Whole>({{Forward, 0}, {Forward, 1}, {Forward, 2}, {Forward, 3}, {Forward, 4}, {Forward, 5}}));

// The sum of the second product's parts is a node with an instruction. A conversion that moves nothing has none: what
// all ways have alike is what each of them wants.
struct Halves : Plan<Net, Batch<8>, ModelParallel<SplitColsRows>> {};
struct DeepNet : Sequential<Vector<8>, Linear<4>, Relu, Linear<4>, Relu, Linear<2>, CrossEntropy> {};
struct Deep : Plan<DeepNet, Batch<8>, ModelParallel<SplitColsRows>> {};
constexpr int converts(auto const& pass) {
  int n = 0;
  for (int i = 0; i < pass.count; ++i) n += pass.at[i].what == Convert;
  return n;
}
static_assert(converts(Halves::forward_pass) == 1);
constexpr int nodes_that_move_nothing(auto const& placed) {
  int n = 0;
  for (int k = 0; k < placed.count; ++k) {
    n += placed.node[k].op < 0 && placed.node[k].conversion.forward == op::Verb::None;
  }
  return n;
}
static_assert(nodes_that_move_nothing(Deep::placed) > 0);
static_assert(Deep::forward_pass.count == Deep::placed.count - nodes_that_move_nothing(Deep::placed));

struct Normed : Sequential<Vector<8>, BatchNorm, Linear<2, NoBias>, CrossEntropy> {};
struct NormedPlan : Plan<Normed, Batch<8>> {};
static_assert(NormedPlan::forward_pass.at[1] == schedule::Instruction{Sum, NormedPlan::forward_pass.at[0].node});

// The input of a residual is read by what is inside and by its sum.
struct Res : Sequential<Vector<8>, Residual<Tanh>, Linear<2>, CrossEntropy> {};
struct ResPlan : Plan<Res, Batch<8>> {};
static_assert(ResPlan::forward_pass.readers[0] == 2 && ResPlan::forward_pass.readers[1] == 1);

}  // namespace

TEST_CASE_TEMPLATE("what an instruction reads is computed before it", P, Deep, ResPlan, NormedPlan) {
  for (int i = 0; i < P::forward_pass.count; ++i) {
    int const k = P::forward_pass.at[i].node;
    CHECK(P::placed.node[k].in0 < k);
    CHECK(P::placed.node[k].in1 < k);
    if (i > 0 && P::forward_pass.at[i].what != Sum) CHECK(P::forward_pass.at[i - 1].node < k);
  }
}
