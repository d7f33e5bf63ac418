// backend/emulate/machine.cpp - streams and graphs: what events order is ordered, the rest runs in every order; what a capture refuses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/backend/emulate/machine.hpp>

#include <set>
#include <vector>

using namespace cleave;
using backend::emulate::Machine;
using doctest::Contains;

namespace {

struct Append {
  struct Args {
    std::vector<int>* to;
    int what;
  };
  static constexpr int threads = 32, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> static void run(Ctx const& c, Args const& a) {
    if (c.thread() == 0) a.to->push_back(a.what);
  }
};
using Orders = std::set<std::vector<int>>;

/// A machine whose side stream is part of a capture that the first stream began.
struct Captured {
  Machine m{5};
  Machine::Stream origin = m.stream(), side = m.stream(), other = m.stream();
  Machine::Event earlier = m.event(), begun = m.event(), over = m.event();
  std::vector<int> seen;
  Captured() {
    m.record(earlier, other);
    m.begin(origin);
    m.record(begun, origin);
    m.wait(side, begun);
    m.launch<Append>(side, 1, {&seen, 1});
    m.record(over, side);
  }
};

}  // namespace

TEST_CASE("a graph is run in any order that its events allow") {
  Machine m(3);
  auto const origin = m.stream(), side = m.stream();
  auto const begun = m.event(), over = m.event(), middle = m.event();
  std::vector<int> seen;
  m.begin(origin);
  m.launch<Append>(origin, 1, {&seen, 0});
  m.record(begun, origin);
  m.wait(side, begun);
  m.launch<Append>(origin, 1, {&seen, 1});
  m.record(middle, origin);
  m.launch<Append>(side, 1, {&seen, 2});  // beside 1
  m.wait(side, middle);
  m.launch<Append>(side, 1, {&seen, 3});  // behind both
  m.record(over, side);
  m.wait(origin, over);
  auto const graph = m.end();
  CHECK(seen.empty());  // captured, not run
  Orders orders;
  for (int i = 0; i < 60; ++i) {
    seen.clear();
    m.run(graph, origin);
    m.finish();
    orders.insert(seen);
  }
  CHECK(orders == Orders{{0, 1, 2, 3}, {0, 2, 1, 3}});
}
TEST_CASE("streams run in any order that their events allow, and the host does not wait for them") {
  Orders orders;
  std::set<std::size_t> by_then;
  for (std::uint64_t of = 0; of < 400; ++of) {
    Machine m(of);
    auto const one = m.stream(), two = m.stream();
    auto const first = m.event();
    std::vector<int> seen;
    m.launch<Append>(one, 1, {&seen, 0});
    m.record(first, one);
    m.launch<Append>(one, 1, {&seen, 1});
    m.wait(two, first);
    m.launch<Append>(two, 1, {&seen, 2});
    by_then.insert(seen.size());
    m.finish(first);
    CHECK(seen.size() >= 1);
    m.finish();
    orders.insert(seen);
  }
  CHECK(orders == Orders{{0, 1, 2}, {0, 2, 1}});
  CHECK(by_then == std::set<std::size_t>{0, 1, 2, 3});
}
TEST_CASE("a graph stands on its stream; another stream's work runs beside it") {
  Orders orders;
  for (std::uint64_t of = 0; of < 400; ++of) {
    Machine m(of);
    auto const origin = m.stream(), other = m.stream();
    std::vector<int> seen;
    Machine::Graph graph;
    m.begin(origin);
    m.launch<Append>(origin, 1, {&seen, 1});
    m.launch<Append>(origin, 1, {&seen, 2});
    graph = m.end();
    m.launch<Append>(origin, 1, {&seen, 0});
    m.run(graph, origin);
    graph = {};  // what is under way outlives it
    m.launch<Append>(origin, 1, {&seen, 3});
    m.launch<Append>(other, 1, {&seen, 9});
    m.finish();
    orders.insert(seen);
  }
  CHECK(orders.size() == 5);  // 9 at each of five places
}
TEST_CASE("what is not joined, or never began behind the origin, is refused as a device refuses it") {
  {
    Captured c;
    CHECK_THROWS_WITH_AS(c.m.end(), Contains("not joined"), Error);
  }
  Captured c;
  CHECK_THROWS_WITH_AS(c.m.launch<Append>(c.other, 1, {&c.seen, 2}), Contains("does not wait for the first"), Error);
  CHECK_THROWS_WITH_AS(c.m.copy(c.other, nullptr, nullptr, 0), Contains("does not wait for the first"), Error);
}
TEST_CASE("a capture refuses events from outside, and to be waited for") {
  Captured c;
  Machine& m = c.m;
  CHECK_THROWS_WITH_AS(m.wait(c.side, c.earlier), Contains("not recorded in it"), Error);
  CHECK_THROWS_WITH_AS(m.wait(c.origin, m.event()), Contains("not recorded in it"), Error);
  CHECK_THROWS_WITH_AS(m.finish(), Contains("the host waits for streams before the capture has ended"), Error);
  CHECK_THROWS_WITH_AS(m.finish(c.earlier), Contains("the host waits for an event before"), Error);
  CHECK_THROWS_WITH_AS(m.finish(c.begun), Contains("recorded in a capture"), Error);
  CHECK_THROWS_WITH_AS(m.allocate(8), Contains("memory is allocated before the capture has ended"), Error);
  CHECK_THROWS_WITH_AS(m.begin(c.other), Contains("another is begun"), Error);
  m.wait(c.origin, c.over);
  auto const graph = m.end();
  CHECK_THROWS_WITH_AS(m.wait(c.other, c.over), Contains("a capture which has ended"), Error);
  CHECK_THROWS_WITH_AS(m.finish(c.over), Contains("recorded in a capture"), Error);
  m.run(graph, c.origin);
  m.finish();
  CHECK(c.seen == std::vector<int>{1});
}
TEST_CASE("a time that has not come is not read") {
  Machine m;
  auto const s = m.stream();
  auto const from = m.timer(), to = m.timer();
  m.stamp(from, s);
  CHECK_THROWS_WITH_AS(m.milliseconds(from, to), Contains("before the device has come to both"), Error);
  m.stamp(to, s);
  m.finish();
  CHECK(m.milliseconds(from, to) >= 0);
}
TEST_CASE("memory comes poisoned") {
  Machine m;
  auto const* f = reinterpret_cast<float*>(m.allocate(64));
  for (int i = 0; i < 16; ++i) CHECK(f[i] != f[i]);
}
