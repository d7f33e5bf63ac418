// schedule/recompute.cpp - which steps are run again, and before which gradients.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;
using schedule::Do;

namespace {

struct Net
    : Sequential<Vector<6>, Linear<8>, Recompute<Linear<10>, Tanh, Linear<12>, Sigmoid>, Linear<4>, CrossEntropy> {};
struct Two : Sequential<Vector<6>, Recompute<Linear<8>, Tanh, LayerNorm>, Recompute<Linear<10>, Gelu, Linear<8>>,
                        Linear<4>, CrossEntropy> {};
/// Whose last map is computed back from its input, not from its output.
struct Ends : Sequential<Vector<6>, Linear<8>, Recompute<Linear<10>, Gelu>, Linear<4>, CrossEntropy> {};
struct Cut : Sequential<Vector<6>, Recompute<Linear<8>, Tanh, Linear<6>, Tanh>, Linear<4>, CrossEntropy> {};
template <class N, class... Policies> using Of = Plan<N, Batch<8>, Policies...>;

/// The layers of the forward steps on the way back, and of the gradient step that they stand before.
template <class P> std::string again() {
  std::string out;
  for (int s = P::schedule.forward_steps; s < P::schedule.steps; ++s) {
    auto const [what, k, dx, dx2, linked] = P::schedule.step[s];
    if (schedule::is_of_bucket(what) || !P::placed_model.is_op(k)) continue;
    bool const before = s > P::schedule.forward_steps && P::schedule.step[s - 1].what == Do::Forward;
    if (what == Do::Forward || before)
      out += (what == Do::Forward ? " " : " before ") + std::to_string(P::placed_model.op(k).leaf);
    if (what != Do::Forward && before) out += ";";
  }
  return out;
}

}  // namespace

TEST_CASE("what other layers read is kept; the rest of a segment is computed before its first gradient") {
  CHECK(again<Of<Net>>() == " 1 before 4;");  // not the second product, whose result is read outside
  CHECK(again<Of<Ends>>() == " 1 before 2;");
  CHECK(again<Of<Two>>() == " 3 before 5; 0 before 2;");
}
TEST_CASE("what ranks have sent each other is kept") {
  using P = Of<Cut, ModelParallel<SplitColsRows, Ways<2>>>;
  CHECK(again<P>() == " 0 before 3;");
  for (int s = P::schedule.forward_steps; s < P::schedule.steps; ++s) CHECK(P::schedule.step[s].what != Do::Convert);
}
TEST_CASE("the values have buffers of their own on the way back, and without segments there is nothing more") {
  using P = Of<Net>;
  static_assert(P::recomputed.any && !Of<Sequential<Vector<6>, Linear<4>, CrossEntropy>>::recomputed.any);
  int moved = 0;
  for (int k = 0; k < P::placed.count; ++k) {
    moved += P::schedule.again[k] != P::schedule.value[k];
    if (P::schedule.again[k] != P::schedule.value[k])
      CHECK(P::lives.of[P::schedule.value[k]].death < P::schedule.forward_steps);
  }
  CHECK(moved == 3);  // product, bias and tanh are one value
}
