// agree/decider.hpp - decisions without the agreement's type are those of the agreement.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/agree/decider.hpp"

#include <doctest/doctest.h>

#include <iterator>

#include "cleave/agree/async.hpp"
#include "cleave/agree/averaging.hpp"
#include "cleave/agree/quorum.hpp"

using namespace cleave;
using namespace cleave::agree;

TEST_CASE("a decider of a quorum decides as the quorum does, of so many workers") {
  Quorum<4> keeper;
  keeper.workers = 3;
  keeper.quorum = 2;
  auto const same = decider<Quorum<4>>(3, 2);
  auto const hear = [&](Event const& e) {
    Actions<4> a, b;
    keeper.hear(e, a);
    same->hear(e, b);
    REQUIRE(a.count == b.count);
    for (int i = 0; i < a.count; ++i) {
      CHECK(a.of[i].what == b.of[i].what);
      CHECK(a.of[i].worker == b.of[i].worker);
      CHECK(a.of[i].version == b.of[i].version);
      CHECK(a.of[i].share == b.of[i].share);
    }
    for (int w = 0; w < 4; ++w) CHECK(keeper.waited_for(w) == same->waited_for(w));
    return a.count;
  };
  for (int w = 0; w < 3; ++w) CHECK(hear({Heard::Joined, w}) == 1);
  hear({Heard::Pushed, 0, 1, 0});
  CHECK(same->version() == 0);
  CHECK(hear({Heard::Pushed, 2, 1, 0}) == 5);  // taken, an update, three grants
  CHECK(same->version() == 1);
  CHECK(!same->waited_for(3));
  CHECK(hear({Heard::Pushed, 1, 1, 0}) == 2);  // too late: dropped, and granted again
  hear({Heard::Asked, 1, 1});
  hear({Heard::Left, 1, 1});
  same->set_version(7);
  CHECK(same->version() == 7);
}
TEST_CASE("the terms of an agreement, as a value") {
  using Together = Agreed<LocalSGD<5>>;
  constexpr Terms averaging = terms<Together, true>(), free = terms<Agreed<Downpour<2, 4>>, true>(),
                  summed = terms<Agreed<Async>, false>();
  static_assert(averaging.waits && averaging.together && averaging.steps_itself() && averaging.pace.push == 5);
  static_assert(!free.waits && !free.together && !free.steps_itself() && free.pace.fetch == 2 && free.pace.push == 4);
  static_assert(averaging.parts(6) == Together::parts(6) && free.parts(6) == 1);
  static_assert(!summed.decider);  // without a server nobody decides
  constexpr Terms elastic = terms<Agreed<ElasticAveraging<3, 20>>, true>();
  static_assert(elastic.elastic() && elastic.percent == 20);
  auto const one = free.decider(6, 1);
  CHECK(one->version() == 0);
}
