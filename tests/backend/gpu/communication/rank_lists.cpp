// backend/gpu/communication/rank_lists.cpp - lists of all ranks: their rounds, and the same exchange for peers behind a link.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/backend/gpu/communication/rank_lists.hpp>
#include <cleave/schedule/exchange_goal.hpp>

using namespace cleave;
using backend::gpu::RankLists;

namespace {

struct Mlp : Sequential<Vector<6>, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
template <class... Ps> struct Of : Plan<Mlp, Batch<12>, MicroBatches<6>, DataParallel<Sync>, Ps...> {};

template <class P> schedule::Share share(int replicas) { return P::share({replicas, P::ways}); }
template <class P> RankLists starting(int replicas) {
  int s = 0;
  while (P::schedule.step[s].what != schedule::Do::Start) ++s;
  return backend::gpu::rank_lists(schedule::program<P>, s, share<P>(replicas), 0);
}

/// Lists as peers behind a link run them, checked as the others are.
template <class P> std::string gathered() {
  schedule::Program const& program = schedule::program<P>;
  schedule::Share const all = share<P>(3);
  for (int s = 0; s < program.steps; ++s) {
    if (program.step[s].what != schedule::Do::Start) continue;
    RankLists lists = backend::gpu::rank_lists(program, s, all, 0);
    lists.gather_before_apply();
    auto const each = [&](int rank, auto& v) {
      schedule::TransferList const& list = lists.of[static_cast<std::size_t>(rank)];
      for (int r = 0; r < list.rounds(); ++r) {
        v.round();
        list.each(r, [&](schedule::Write const& w, auto from) {
          v.write(w);
          for (schedule::Source const& source : from) v.source(source);
        });
      }
    };
    schedule::StepGoal const goal(program, s, all, 0);
    schedule::ExchangeCheck<decltype(each), schedule::StepGoal, std::vector<schedule::CheckedElement>> check(
        all.ranks.world(), each, goal);
    std::vector<schedule::CheckedElement> memory(static_cast<std::size_t>(check.size()));
    if (schedule::ExchangeFault const f = check.run(memory)) return std::string(f.what);
    for (int rank = 0; rank < all.ranks.world(); ++rank) {
      if (!lists.of[static_cast<std::size_t>(rank)].peers(lists.last, rank).empty()) return "the update reads a peer";
    }
  }
  return {};
}

}  // namespace

TEST_CASE("gradients are packed first in narrow formats; a rank updates its weights in the last round") {
  RankLists const narrow = starting<Of<Precision<bf16>>>(3), plain = starting<Of<>>(2), alone = starting<Of<>>(1),
                  coded = starting<Of<Fastest, Compress<Int8>>>(2);
  CHECK((narrow.packs && narrow.meets && narrow.rounds == 3 && narrow.last == 2 && narrow.of.size() == 3));
  CHECK((!plain.packs && plain.meets && plain.rounds == 2 && plain.last == 1));
  CHECK((!coded.packs && coded.meets && coded.rounds == 3 && coded.last == 2));
  CHECK((!alone.packs && !alone.meets && alone.rounds == 0));
}
TEST_CASE("a rank of a ring reads its neighbour only, and nobody in the round in which it updates") {
  RankLists const ring = starting<Of<Fastest, ReduceBy<Ring>>>(3);
  CHECK((ring.reads(0, 1, 0) && !ring.reads(0, 1, 2) && !ring.reads(ring.last, 1, 0)));
}
TEST_CASE("what is gathered before the update is the same exchange, and the update reads no peer") {
  CHECK(gathered<Of<>>() == "");
  CHECK(gathered<Of<Precision<bf16>>>() == "");
  CHECK(gathered<Of<Fastest, ReduceBy<Ring>>>() == "");
  CHECK(gathered<Of<Fastest, Compress<Int8>>>() == "");
  CHECK(gathered<Of<Fastest, Compress<TopK<100>>>>() == "");
}
