// schedule/slices.cpp - sharing out is complete and disjoint, and the tree does not depend on who holds what.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/schedule/slices.hpp>
#include <string>
#include <vector>

using namespace cleave::schedule;

TEST_CASE("micro-batches are shared out completely and disjointly") {
  for (int s = 1; s <= 33; ++s) {
    for (int n = 1; n <= s; ++n) {
      int next = 0;
      for (int p = 0; p < n; ++p) {
        Range const r = slices(s, p, n);
        CHECK(r.begin == next);
        CHECK(r.size() >= s / n);
        CHECK(r.size() <= most_slices(s, n));
        next = r.end;
      }
      CHECK(next == s);
    }
  }
}

namespace {
// The tree as a text: "((0 1) (2 3))".
std::string told(int leaves, std::vector<Branch> const& branches, std::vector<std::string> const& texts) {
  TreeSum sum{leaves};
  std::vector<std::string> stack(most_branches);
  for (std::size_t i = 0; i < branches.size(); ++i) {
    stack[static_cast<std::size_t>(sum.depth)] = texts[i];
    sum.push(branches[i], [&](int a, int b) {
      auto& to = stack[static_cast<std::size_t>(a)];
      to = "(" + to + " " + stack[static_cast<std::size_t>(b)] + ")";
    });
  }
  std::string all;
  for (int d = 0; d < sum.depth; ++d) all += stack[static_cast<std::size_t>(d)] + (d + 1 < sum.depth ? ";" : "");
  return all;
}
}  // namespace

TEST_CASE("one rank sums everything in one tree") {
  std::vector<Branch> leaves;
  std::vector<std::string> names;
  for (int i = 0; i < 6; ++i) {
    leaves.push_back({i, 1});
    names.push_back(std::to_string(i));
  }
  CHECK(told(6, leaves, names) == "(((0 1) (2 3)) (4 5))");
}

TEST_CASE("any number of ranks sums in the tree of one rank") {
  for (int s = 1; s <= 20; ++s) {
    std::vector<Branch> leaves;
    std::vector<std::string> names;
    for (int i = 0; i < s; ++i) {
      leaves.push_back({i, 1});
      names.push_back(std::to_string(i));
    }
    std::string const whole = told(s, leaves, names);
    for (int n = 1; n <= s; ++n) {
      std::vector<Branch> branches;
      std::vector<std::string> texts;
      for (int p = 0; p < n; ++p) {
        Range const r = slices(s, p, n);
        TreeSum sum{s};
        std::vector<std::string> stack(most_branches);
        for (int i = r.begin; i < r.end; ++i) {
          stack[static_cast<std::size_t>(sum.depth)] = std::to_string(i);
          sum.push({i, 1}, [&](int a, int b) {
            auto& to = stack[static_cast<std::size_t>(a)];
            to = "(" + to + " " + stack[static_cast<std::size_t>(b)] + ")";
          });
        }
        CHECK(held({s, {n, 1}}, over_data, p, true).branches == sum.depth);
        for (int d = 0; d < sum.depth; ++d) {
          branches.push_back(sum.stack[d]);
          texts.push_back(stack[static_cast<std::size_t>(d)]);
        }
      }
      CHECK(told(s, branches, texts) == whole);
    }
  }
}

namespace {
void shared_out(Share const& share, AxisSet over) {
  std::vector<int> times(static_cast<std::size_t>(share.micro_batches));
  for (int p = 0; p < share.parts(over); ++p) {
    int const replica = share.ranks.coordinate(share.ranks.member(p, over), 0);
    int last = -1, taken = 0;
    for (int round = 0; round < share.rounds; ++round) {
      Range const r = share.of(over, p, round), own = share.own(replica, round);
      CHECK(r.size() >= 1);
      CHECK(r.size() <= share.most(over));
      CHECK(r.begin > last);
      last = r.end - 1;
      for (int i = r.begin; i < r.end; ++i) ++times[static_cast<std::size_t>(i)];
      for (int i = own.begin; i < own.end; ++i) CHECK(share.before(replica, round, i) == taken++);
      if (share.sums_rounds) CHECK(slices(share.micro_batches, round, share.rounds).begin <= own.begin);
    }
    CHECK(taken <= share.most_of_a_replica());
  }
  CHECK(times == std::vector<int>(times.size(), 1));
}
}  // namespace

TEST_CASE("in rounds and over ways, micro-batches are still shared out completely, from left to right") {
  for (int s = 1; s <= 24; ++s) {
    for (int data = 1; data <= 3; ++data) {
      for (int model = 1; model <= 3; ++model) {
        for (int rounds = 1; data * model * rounds <= s; ++rounds) {
          Share const share{s, {data, model}, rounds};
          Share of_rounds = share;
          of_rounds.sums_rounds = true;
          for (AxisSet const over : {over_data, AxisSet{0, 1}}) {
            shared_out(share, over);
            shared_out(of_rounds, over);
          }
        }
      }
    }
  }
  CHECK_THROWS_WITH_AS(held({256, {1, 2}, 128}, AxisSet{0, 1}, 0, true), doctest::Contains("more than 40 branches"),
                       cleave::Error);
}

static_assert(held({8}, over_data, 0, true).branches == 1 && held({8}, over_data, 0, true).deepest == 4);
static_assert(held({8, {3, 1}}, over_data, 1, true).branches == 2);  // (2 3) and 4
static_assert(held({8, {3, 1}}, over_data, 1, false).branches == 1);
static_assert(most_held({8, {3, 1}}, over_data, true).branches == 2 &&
              most_held({8, {4, 1}}, over_data, true).branches == 1);
static_assert(held({8, {1, 1}, 2}, over_data, 0, true).kept == 1 &&
              held({12, {1, 1}, 2}, over_data, 0, true).kept == 2);
static_assert(held({8, {1, 2}, 2}, AxisSet{0, 1}, 0, true).branches == 2);  // (0 1) and (4 5)
