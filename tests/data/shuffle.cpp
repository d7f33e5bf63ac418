// data/shuffle.cpp - the random order of samples: a permutation, the same everywhere, another for each epoch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <algorithm>
#include <cleave/data/shuffle.hpp>

using namespace cleave;

namespace {

std::vector<int> shuffled(std::size_t n, std::uint32_t epoch, std::uint64_t seed = 1) {
  std::vector<int> order(n, -1);
  session::shuffle(order, {seed, tensor::Purpose::Shuffle, epoch});
  return order;
}

}  // namespace

TEST_CASE("every number is in the order once") {
  for (std::size_t n : {0u, 1u, 2u, 3u, 100u, 1000u}) {
    std::vector<int> order = shuffled(n, 0);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < n; ++i) CHECK(order[i] == static_cast<int>(i));
  }
}

TEST_CASE("the order follows from seed and epoch alone, on any machine") {
  CHECK(shuffled(8, 0) == std::vector{2, 7, 3, 4, 6, 0, 1, 5});
  CHECK(shuffled(100, 3) == shuffled(100, 3));
  CHECK(shuffled(100, 3) != shuffled(100, 4));
  CHECK(shuffled(100, 3, 1) != shuffled(100, 3, 2));
}

TEST_CASE("every number is at every place as often") {
  constexpr int n = 6, epochs = 6000;
  int at[n][n] = {};
  for (int e = 0; e < epochs; ++e) {
    std::vector<int> const order = shuffled(n, static_cast<std::uint32_t>(e));
    for (int i = 0; i < n; ++i) ++at[i][order[static_cast<std::size_t>(i)]];
  }
  double chi = 0;
  for (auto const& row : at)
    for (int const count : row) chi += (count - epochs / n) * (count - epochs / n) / (epochs / double{n});
  CHECK(chi < 52.6);  // 25 degrees of freedom: exceeded in one of 1000 seeds
}
