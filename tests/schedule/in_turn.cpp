// schedule/in_turn.cpp - where gradients and weights are in memory in turn, each is there when a step needs it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/plan/plan.hpp>

#include "../golden/plans.hpp"

using namespace cleave;

namespace {

using schedule::Do;

template <class P> int bucket_of(int weight) {
  int b = 0;
  while (P::schedule.weight[weight].offset >= P::schedule.bucket[b].offset + P::schedule.bucket[b].count) ++b;
  return b;
}

/// Follows the steps with the buckets that are in memory. Of gradients a place is taken by the first that is computed
/// there, and is free after its update; of weights each is what was gathered last.
template <class P> struct Places {
  int gradients[2] = {-1, -1}, weights[2] = {-1, -1};
  int started = 0, updated = 0, gathered = 0, reads = 0;

  void follow() {
    schedule::Schedule const& s = P::schedule;
    for (int k = 0; k < s.steps; ++k) {
      CAPTURE(k);
      int const n = s.step[k].node;
      switch (s.step[k].what) {
        case Do::Forward:
          read(n);
          if (s.bias[n] >= 0) read(s.bias[n]);
          break;
        case Do::BackwardInput:
          read(n);
          break;
        case Do::BackwardWeight:
          if (learns(n)) compute(bucket_of<P>(s.first_weight[n]));
          break;
        case Do::Gather:
          weights[n % 2] = n;
          ++gathered;
          break;
        case Do::Start:
          CHECK(gradients[n % 2] == n);
          ++started;
          break;
        case Do::Update:
          CHECK(gradients[n % 2] == n);
          gradients[n % 2] = -1;
          ++updated;
          break;
        default:
          break;
      }
    }
    CHECK(started == s.buckets);
    CHECK(updated == s.buckets);
  }
  static bool learns(int n) { return P::placed_model.is_op(n) && P::placed_model.op(n).weights > 0; }
  void read(int n) {
    if (!learns(n) || !P::request.gathers_weights) return;
    int const b = bucket_of<P>(P::schedule.first_weight[n]);
    CHECK(weights[b % 2] == b);
    ++reads;
  }
  void compute(int b) {
    CHECK((gradients[b % 2] == -1 || gradients[b % 2] == b));
    gradients[b % 2] = b;
  }
};

template <int stage, class N, class... Ps> int reads() {
  Places<golden::Of<N, DataParallel<Sync, Zero<stage>>, Adam, Ps...>> places;
  places.follow();
  CHECK((places.gathered > 0) == (stage == 3));
  return places.reads;
}
template <class... Ps> int reads_of_all() {
  return reads<2, golden::Mlp, Ps...>() + reads<3, golden::Mlp, Ps...>() + reads<2, golden::Narrow, Ps...>() +
         reads<3, golden::Narrow, Ps...>() + reads<3, golden::Norms, Ps...>() + reads<2, golden::Layers, Ps...>() +
         reads<3, golden::Layers, Ps...>() + reads<3, golden::Paths, Ps...>() + reads<2, golden::Deep, Ps...>() +
         reads<3, golden::Deep, Ps...>();
}

}  // namespace

TEST_CASE("gradients are updated before their place is taken, and weights gathered before they are read") {
  CHECK(reads_of_all<>() > 50);
  CHECK(reads_of_all<Buckets<2048>>() > 50);
  CHECK(reads_of_all<ModelParallel<SplitCols>>() > 50);
  CHECK(reads<3, golden::Mlp, ModelParallel<SplitRows>>() > 4);  // a layer's product and bias are two buckets
}
TEST_CASE("products with few columns are not linked: one kernel of several would read more than two buckets") {
  using P = golden::Of<golden::Narrow, DataParallel<Sync, Zero<3>>, Adam>;
  for (int k = 0; k < P::schedule.steps; ++k) CHECK(!P::schedule.step[k].linked);
}
