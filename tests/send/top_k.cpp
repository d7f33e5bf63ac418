// send/top_k.cpp - the k largest as sorting finds them, the first of equal ones, eight bytes each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/send/top_k.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "numbers.hpp"

using namespace cleave;

namespace {
template <int PerMille> void keeps(std::vector<float> const& g) {
  using C = TopK<PerMille>;
  std::vector<std::size_t> order(g.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::fabs(g[a]) > std::fabs(g[b]); });
  std::vector<float> wanted(g.size(), 0);
  for (long k = 0; k < C::kept(static_cast<long>(g.size())); ++k) {
    std::size_t const i = order[static_cast<std::size_t>(k)];
    wanted[i] = g[i];
  }
  bool kept = false;
  CHECK(numbers::there_and_back<C>(g, kept) == wanted);
  CHECK(kept);
}
}  // namespace

TEST_CASE("top k: bytes of a message, and the elements that it holds") {
  static_assert(TopK<10>::bytes(1000) == 80 && TopK<10>::bytes(1001) == 88 && TopK<10>::bytes(1) == 8);
  static_assert(TopK<1>::bytes(0) == 0 && TopK<1000>::kept(17) == 17);
  for (long n : {0L, 1L, 2L, 99L, 1000L, 4097L}) {
    CAPTURE(n);
    auto const g = numbers::drawn(n, 4);
    keeps<1>(g);
    keeps<10>(g);
    keeps<500>(g);
    keeps<1000>(g);
  }
}
TEST_CASE(
    "many elements, of which a sample says which may be among the largest; and where it says too little or too much") {
  auto g = numbers::drawn(60'001, 5);
  keeps<1>(g);
  keeps<10>(g);
  keeps<700>(g);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = i % 20 == 0 ? g[i] : 0;  // fewer than are wanted
  keeps<100>(g);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = static_cast<float>(i % 3);  // far more of one size
  keeps<10>(g);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = i > 59'900 ? static_cast<float>(i) : 0;  // seen by no sample
  keeps<1>(g);
}
TEST_CASE("ties: the first of them") {
  keeps<500>({1, -1, 1, -1, 1, -1});
  keeps<250>({0, 0, 0, 0, 0});
  keeps<300>({1, 2, -2, 2, 3, -2, 2, 1, 0, 2});
}
TEST_CASE("what is not a number goes first; an index that cannot be is not written") {
  bool kept = false;
  float const nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(numbers::there_and_back<TopK<100>>({1, 5, nan, std::numeric_limits<float>::infinity()}, kept)[2]));
  std::byte wrong[8];
  send::store(wrong, std::uint32_t{4});
  send::store(wrong + 4, 1.0f);
  float to[2]{7, 7};
  send::decode<TopK<1>>(2, wrong, to);
  CHECK((to[0] == 0 && to[1] == 0));
}
