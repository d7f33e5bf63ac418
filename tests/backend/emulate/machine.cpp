// backend/emulate/machine.cpp - captured graphs: what events order is ordered, what they do not is tried in every order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/backend/emulate/machine.hpp>

#include <set>
#include <vector>

using namespace cleave;
using backend::emulate::Machine;

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
  std::set<std::vector<int>> orders;
  for (int i = 0; i < 50; ++i) {
    seen.clear();
    m.run(graph, origin);
    orders.insert(seen);
  }
  CHECK(orders == std::set<std::vector<int>>{{0, 1, 2, 3}, {0, 2, 1, 3}});
}
TEST_CASE("what is not joined, or never began behind the origin, is refused as a device refuses it") {
  std::vector<int> seen;
  {
    Machine m;
    auto const origin = m.stream(), side = m.stream();
    auto const begun = m.event();
    m.begin(origin);
    m.record(begun, origin);
    m.wait(side, begun);
    m.launch<Append>(side, 1, {&seen, 1});
    CHECK_THROWS_WITH_AS(m.end(), doctest::Contains("not joined"), Error);
  }
  Machine m;
  auto const origin = m.stream(), side = m.stream();
  auto const over = m.event();
  m.begin(origin);
  m.launch<Append>(side, 1, {&seen, 1});
  m.record(over, side);
  m.wait(origin, over);
  CHECK_THROWS_WITH_AS(m.end(), doctest::Contains("does not wait for the first"), Error);
}
TEST_CASE("memory comes poisoned") {
  Machine m;
  auto const* f = reinterpret_cast<float*>(m.allocate(64));
  for (int i = 0; i < 16; ++i) CHECK(f[i] != f[i]);
}
