// meta/sort.cpp - the sort of meta/sort.hpp against std::sort.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <algorithm>
#include <cleave/meta/sort.hpp>
#include <functional>
#include <string>
#include <vector>

TEST_CASE("lists of every length up to 40, with equal elements, come out as std::sort leaves them") {
  unsigned random = 1;
  for (std::size_t length = 0; length <= 40; ++length) {
    for (unsigned values : {1U, 3U, 1000U}) {
      std::vector<unsigned> list(length);
      for (unsigned& x : list) x = (random = random * 1664525U + 1013904223U) / 7 % values;
      std::vector<unsigned> sorted = list;
      std::sort(sorted.begin(), sorted.end());
      cleave::meta::sort(std::span(list), std::less<>());
      CHECK(list == sorted);
    }
  }
}

TEST_CASE("a part of a list is sorted alone, by an order of one's own") {
  std::vector<std::string> list{"z", "bb", "a", "dddd", "ccc"};
  cleave::meta::sort(std::span(list).subspan(1), [](auto const& a, auto const& b) { return a.size() > b.size(); });
  CHECK(list == std::vector<std::string>{"z", "dddd", "ccc", "bb", "a"});
}
