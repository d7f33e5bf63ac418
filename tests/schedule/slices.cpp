// schedule/slices.cpp - sharing out is complete and disjoint, and the tree does not depend on who holds what.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/schedule/slices.hpp>
#include <string>
#include <vector>

using namespace cleave::schedule;

TEST_CASE("row 18: micro-batches are shared out completely and disjointly") {
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

TEST_CASE("row 24: any number of ranks sums in the tree of one") {
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
        CHECK(held(s, r, true).branches == sum.depth);
        for (int d = 0; d < sum.depth; ++d) {
          branches.push_back(sum.stack[d]);
          texts.push_back(stack[static_cast<std::size_t>(d)]);
        }
      }
      CHECK(told(s, branches, texts) == whole);
    }
  }
}

static_assert(held(8, {0, 8}, true).branches == 1 && held(8, {0, 8}, true).deepest == 4);
static_assert(held(8, {3, 6}, true).branches == 2);
static_assert(held(8, {3, 6}, false).branches == 1);
static_assert(most_held(8, 3, true).branches == 2 && most_held(8, 4, true).branches == 1);
