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

// The sum of the second product's parts is a node with an instruction; a part of what all have is taken without one.
struct Halves : Plan<Net, Batch<8>, ModelParallel<SplitColsRows>> {};
constexpr int converts(auto const& pass) {
  int n = 0;
  for (int i = 0; i < pass.count; ++i) n += pass.at[i].what == Convert;
  return n;
}
static_assert(converts(Halves::forward_pass) == 1);
static_assert(Halves::forward_pass.count <= Halves::placed.count);

struct Normed : Sequential<Vector<8>, BatchNorm, Linear<2, NoBias>, CrossEntropy> {};
struct NormedPlan : Plan<Normed, Batch<8>> {};
static_assert(NormedPlan::forward_pass.at[1] == schedule::Instruction{Sum, NormedPlan::forward_pass.at[0].node});

// The input of a residual is read by what is inside and by its sum.
struct Res : Sequential<Vector<8>, Residual<Tanh>, Linear<2>, CrossEntropy> {};
struct ResPlan : Plan<Res, Batch<8>> {};
static_assert(ResPlan::forward_pass.readers[0] == 2 && ResPlan::forward_pass.readers[1] == 1);

}  // namespace

TEST_CASE("what an instruction reads is computed before it") {
  for (int i = 0; i < Halves::forward_pass.count; ++i) {
    int const k = Halves::forward_pass.at[i].node;
    CHECK(Halves::placed.node[k].in0 < k);
    if (i > 0) CHECK(Halves::forward_pass.at[i - 1].node < k);
  }
}
