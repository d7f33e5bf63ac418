// schedule/liveness.cpp - what is read has been written, and lives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <string>

#include "../golden/plans.hpp"

using namespace cleave;

namespace {

/// Every tensor is written before it is read, and each is read or written.
template <class P> void check_order() {
  constexpr int most = std::size(P::lives.of);
  schedule::Schedule const& s = P::schedule;
  bool written[most]{};
  written[s.input_value] = true;
  for (int k = 0; k < s.steps; ++k) {
    schedule::Accesses<P::ops::size> const accesses{P::placed_model, s, k >= s.forward_steps};
    accesses.each(k, [&](int b, schedule::Access access) {
      if (b < 0) return;
      CHECK(P::lives.of[b].birth <= k);
      CHECK(P::lives.of[b].death >= k);
      if (access == schedule::Access::Read) CHECK(written[b]);
      written[b] = true;
    });
  }
  for (int b = 0; b < s.buffers; ++b) CHECK(written[b]);
}

struct Net : Sequential<Vector<8>, Linear<200>, Tanh, Linear<2>, CrossEntropy> {};
struct NetPlan : Plan<Net, Batch<8>> {};
constexpr schedule::Life life(int buffer) { return NetPlan::lives.of[buffer]; }
// The input is there before the first step and is read by the last gradient of weights. The output is read between the
// passes, for the accuracy.
static_assert(life(NetPlan::schedule.input_value).birth == 0);
static_assert(life(NetPlan::schedule.input_value).death == NetPlan::schedule.step_of(schedule::Do::BackwardWeight, 0));
static_assert(life(NetPlan::schedule.value[NetPlan::placed.last]).death >= NetPlan::schedule.forward_steps);
static_assert(life(NetPlan::schedule.value[0]).written == 0);

}  // namespace

TEST_CASE("of each plan tensors are written before they are read, and live as long") {
  int plans = 0;
  auto const each = [&]<class P>(char const* name, meta::type<P>) {
    CAPTURE(std::string(name));
    check_order<P>();
    ++plans;
  };
  golden::each_split(each);
  golden::each_sum(each);
  golden::each_agreement(each);
  CHECK(plans >= 60);
}
