// schedule/differentiate.cpp - the adjoints in reverse; gradients of a value that is read more than once are added.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;
using enum schedule::Do;

namespace {

template <class P> constexpr bool adjoint(std::initializer_list<schedule::Instruction> wanted) {
  if (static_cast<int>(wanted.size()) != P::adjoints.count) return false;
  int k = 0;
  for (schedule::Instruction const& i : wanted) {
    if (!(P::adjoints.at[k++] == i)) return false;
  }
  return true;
}

// A bias's gradient is that of its input too. Nobody asks for the gradient of the model's input.
struct Net : Sequential<Vector<8>, Linear<4>, Relu, Linear<2>, CrossEntropy> {};
struct Plain : Plan<Net, Batch<8>> {};
static_assert(adjoint<Plain>({{BackwardInput, 5, 0},
                              {BackwardWeight, 4},
                              {BackwardInput, 3, 1},
                              {BackwardWeight, 3},
                              {BackwardInput, 2, 2},
                              {BackwardWeight, 1},
                              {BackwardWeight, 0}}));
static_assert(Plain::adjoints.gradient[4] == 0 && Plain::adjoints.gradient[3] == 0);
static_assert(Plain::adjoints.gradient[0] == 2 && Plain::adjoints.gradient[1] == 2);
static_assert(!Plain::adjoints.needed(-1) && Plain::adjoints.input_gradient == -1);

// The sum hands on two gradients; that of tanh's input is made of one of them and of tanh's.
struct Res : Sequential<Vector<8>, Linear<8, NoBias>, Residual<Tanh>, CrossEntropy> {};
struct ResPlan : Plan<Res, Batch<8>> {};
constexpr int added(auto const& pass, int value) {
  int n = 0;
  for (int i = 0; i < pass.count; ++i) n += pass.at[i].what == Add && pass.at[i].node == value;
  return n;
}
static_assert(added(ResPlan::adjoints, 0) == 1 && ResPlan::adjoints.contributions[1] == 2);
static_assert(added(Plain::adjoints, 0) == 0 && Plain::adjoints.contributions[1] == 1);

// The gradient of a sum over the batch is summed over the ranks as it was.
struct Normed : Sequential<Vector<8>, BatchNorm, Linear<2, NoBias>, CrossEntropy> {};
struct NormedPlan : Plan<Normed, Batch<8>> {};
constexpr bool sums_back() {
  auto const& pass = NormedPlan::adjoints;
  for (int i = 1; i < pass.count; ++i) {
    if (pass.at[i].what == SumBack) return pass.at[i - 1].what == BackwardWeight && pass.at[i].dx == pass.at[i - 1].dx;
  }
  return false;
}
static_assert(sums_back());

// Each conversion has its adjoint.
struct Rows : Plan<Net, Batch<8>, ModelParallel<SplitCols>> {};
constexpr int converted_back() {
  int conversions = 0;
  for (int k = 0; k < Rows::placed.count; ++k) {
    place::Node const& n = Rows::placed.node[k];
    if (n.op >= 0 || n.conversion.backward == op::Verb::None || !Rows::adjoints.needed(n.in0)) continue;
    int const first = Rows::adjoints.first[k];
    if (!(Rows::adjoints.at[first].what == ConvertBack && Rows::adjoints.at[first].node == k)) return -1;
    ++conversions;
  }
  return conversions;
}
static_assert(converted_back() > 0);

}  // namespace

TEST_CASE("gradients are numbered once, and each belongs to a value") {
  auto const& pass = ResPlan::adjoints;
  bool written[64]{};
  for (int i = 0; i < pass.count; ++i) {
    if (pass.at[i].what != BackwardInput) continue;
    for (int const dx : {pass.at[i].dx, pass.at[i].dx2}) {
      if (dx < 0) continue;
      CHECK(dx < pass.gradients);
      CHECK(!written[dx]);
      CHECK(pass.of[dx] >= -1);
      CHECK(pass.of[dx] < ResPlan::placed.count);
      written[dx] = true;
    }
  }
}
