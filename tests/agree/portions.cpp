// agree/portions.cpp - portions are handed out, issued again, and counted once, in every order of events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/agree/portions.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace cleave::agree;

namespace {

template <class Dealer> std::vector<Dealt> hear(Dealer& d, Told e) {
  Deals<Dealer::most> out;
  d.hear(e, out);
  return {out.begin(), out.end()};
}
bool is(Dealt const& d, Deal what, int worker, int portion, int again = 0) {
  return d.what == what && d.worker == worker && d.portion == portion && d.again == again;
}
constexpr bool alone_does_all() {
  Portions<1, 3> d;
  Deals<1> out;
  d.hear({Work::Asked, 0}, out);
  d.hear({Work::Begun, 0, 0, 3}, out);
  for (int i = 0; i < 3; ++i) {
    if (d.worker[0].holds != i + 1) return false;
    out.count = 0;
    d.hear({Work::Finished, 0, 1, i}, out);
    d.hear({Work::Asked, 0}, out);
  }
  return d.complete() && out.count == 2 && out.of[1].what == Deal::Complete;
}
static_assert(alone_does_all());

}  // namespace

TEST_CASE("portions are dealt in order to whoever is free, each once") {
  Portions<2, 4> d;
  d.patience = 10;
  hear(d, {Work::Asked, 0});
  hear(d, {Work::Asked, 1});
  auto out = hear(d, {Work::Begun, 0, 0, 3});
  REQUIRE(out.size() == 2);
  CHECK(is(out[0], Deal::Issue, 0, 0));
  CHECK(is(out[1], Deal::Issue, 1, 1));
  out = hear(d, {Work::Finished, 1, 1, 1});
  REQUIRE(out.size() == 1);
  CHECK(is(out[0], Deal::Take, 1, 1));
  CHECK(is(hear(d, {Work::Asked, 1})[0], Deal::Issue, 1, 2));
  CHECK(hear(d, {Work::Finished, 1, 1, 2}).size() == 1);
  CHECK(hear(d, {Work::Asked, 1, 0, 0, 9}).empty());  // what is out is not late yet
  CHECK(hear(d, {Work::Late, 0, 0, 0, 9}).empty());
  CHECK(is(hear(d, {Work::Late, 0, 0, 0, 10})[0], Deal::Issue, 1, 0, 1));
  out = hear(d, {Work::Finished, 1, 1, 0});
  REQUIRE(out.size() == 2);
  CHECK(out[1].what == Deal::Complete);
  CHECK(is(hear(d, {Work::Finished, 0, 1, 0})[0], Deal::Drop, 0, 0));  // the first result counts
}
TEST_CASE("a result of an earlier pass is dropped, and one that is told twice") {
  Portions<2, 1> d;
  hear(d, {Work::Asked, 0});
  hear(d, {Work::Asked, 1});
  auto out = hear(d, {Work::Begun, 0, 0, 1});
  REQUIRE(out.size() == 2);  // without patience both compute the last portion
  CHECK(out[1].again == 1);
  hear(d, {Work::Finished, 0, 1, 0});
  hear(d, {Work::Asked, 0});
  CHECK(hear(d, {Work::Begun, 0, 0, 1})[0].pass == 2);
  CHECK(hear(d, {Work::Finished, 1, 1, 0})[0].what == Deal::Drop);
  CHECK(hear(d, {Work::Finished, 1, 1, 0})[0].what == Deal::Drop);
  CHECK(!d.complete());
  CHECK(hear(d, {Work::Finished, 0, 2, 0})[0].what == Deal::Take);
}
TEST_CASE("what the dead held is issued again before what is late; the last one's death is told") {
  Portions<3, 4> d;
  d.patience = 5;
  for (int w : {0, 1}) hear(d, {Work::Asked, w});
  hear(d, {Work::Begun, 0, 0, 2});
  CHECK(hear(d, {Work::Asked, 2}).empty());
  CHECK(is(hear(d, {Work::Left, 1, 0, 0, 7})[0], Deal::Issue, 2, 1, 1));
  CHECK(hear(d, {Work::Left, 1}).empty());
  CHECK(hear(d, {Work::Left, 0}).empty());
  auto const out = hear(d, {Work::Left, 2});
  REQUIRE(out.size() == 1);
  CHECK(is(out[0], Deal::Fail, 2, 2));
  CHECK(hear(d, {Work::Begun, 0, 0, 2})[0].what == Deal::Fail);
}

namespace {

/// Every order in which workers finish, die and are late, over `passes` passes: no portion is lost, each counts once.
template <int Workers, int Many> struct Explorer {
  using Dealer = Portions<Workers, Many>;
  int passes = 1;
  long ends = 0, failed = 0, wrong = 0;

  void tell(Dealer& d, int (&counted)[Many], bool& failure, Told const& e) {
    Deals<Workers> out;
    d.hear(e, out);
    int const before = d.pass;
    bool over = false;
    for (Dealt const& a : out) {
      if (a.what == Deal::Take) wrong += ++counted[a.portion] != 1 || a.pass != d.pass;
      if (a.what == Deal::Fail) failure = true;
      if (a.what == Deal::Complete) over = true;
    }
    if (!over) return;
    for (int i = 0; i < Many; ++i) wrong += counted[i] != 1;
    if (before == passes) return;
    for (int& c : counted) c = 0;
    tell(d, counted, failure, {Work::Begun, 0, 0, Many});
  }
  void start(long patience) {
    Dealer d;
    d.patience = patience;
    int counted[Many]{};
    bool failure = false;
    for (int w = 0; w < Workers; ++w) tell(d, counted, failure, {Work::Asked, w});
    tell(d, counted, failure, {Work::Begun, 0, 0, Many});
    visit(d, counted, failure);
  }
  void visit(Dealer const& d, int const (&counted)[Many], bool failure) {
    if (failure || (d.pass == passes && d.complete())) {
      ++ends;
      failed += failure;
      wrong += failure && d.live > 0;
      return;
    }
    bool somebody = false;
    auto const branch = [&](Told const& e, bool asks) {
      Dealer next = d;
      int then[Many];
      for (int i = 0; i < Many; ++i) then[i] = counted[i];
      bool fails = false;
      tell(next, then, fails, e);
      if (asks) tell(next, then, fails, {Work::Asked, e.worker});
      visit(next, then, fails);
    };
    for (int w = 0; w < Workers; ++w) {
      if (!d.worker[w].here) continue;
      somebody = somebody || d.worker[w].holds > 0;
      if (d.worker[w].holds > 0) branch({Work::Finished, w, d.worker[w].of_pass, d.worker[w].holds - 1}, true);
      branch({Work::Left, w}, false);
    }
    Dealer late = d;  // time matters only where it changes who computes
    Deals<Workers> out;
    late.hear({Work::Late, 0, 0, 0, d.clock + d.patience}, out);
    if (d.patience > 0 && out.count > 0) branch({Work::Late, 0, 0, 0, d.clock + d.patience}, false);
    wrong += !somebody && out.count == 0;  // nobody computes, and time will not help
  }
};

}  // namespace

TEST_CASE("in small worlds no portion is ever lost, and each counts once") {
  auto const explore = [](auto explorer, int passes, long patience) {
    explorer.passes = passes;
    explorer.start(patience);
    CHECK(explorer.wrong == 0);
    CHECK(explorer.failed > 0);
    CHECK(explorer.ends > explorer.failed);
  };
  for (long patience : {0, 1}) {
    explore(Explorer<2, 3>{}, 1, patience);
    explore(Explorer<3, 2>{}, 1, patience);
    explore(Explorer<2, 2>{}, 2, patience);
    explore(Explorer<3, 3>{}, 1, patience);
    explore(Explorer<3, 3>{}, 2, patience);
    explore(Explorer<4, 3>{}, 1, patience);
  }
}
