// send/route.cpp - every all-reduce algorithm sums each element once, in the bytes it states, without races.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/send/auto.hpp>
#include <cleave/send/hierarchical.hpp>

#include <algorithm>
#include <vector>

using namespace cleave;

namespace {

constexpr long ways_to_cut[] = {0, 1, 2, 5, 24, 97};

/// What each rank knows of the others when it begins a round: how many rounds they have done.
template <class R> std::vector<std::vector<std::vector<int>>> known(long elements, send::Group g) {
  auto const n = static_cast<std::size_t>(g.ranks);
  int const rounds = R::rounds(elements, g);
  std::vector<std::vector<std::vector<int>>> at(static_cast<std::size_t>(rounds) + 1,
                                                std::vector<std::vector<int>>(n, std::vector<int>(n, 0)));
  for (int t = 0; t < rounds; ++t) {
    for (std::size_t r = 0; r < n; ++r) {
      auto& mine = at[static_cast<std::size_t>(t)][r];  // of itself it knows t rounds
      mine[r] = t;
      send::Move const m = R::move(elements, static_cast<int>(r), g, t);
      if (m.any()) {  // it waits until the peer has done t, and knows then what the peer knew
        auto const& theirs = at[static_cast<std::size_t>(t)][static_cast<std::size_t>(m.peer)];
        for (std::size_t q = 0; q < n; ++q) mine[q] = std::max(mine[q], theirs[q]);
        mine[static_cast<std::size_t>(m.peer)] = std::max(mine[static_cast<std::size_t>(m.peer)], t);
      }
    }
    for (std::size_t r = 0; r < n; ++r) at[static_cast<std::size_t>(t) + 1][r] = at[static_cast<std::size_t>(t)][r];
  }
  return at;
}

template <class R> void is_an_all_reduce(long elements, send::Group g) {
  CAPTURE(g.ranks);
  CAPTURE(elements);
  int const rounds = R::rounds(elements, g);
  auto const n = static_cast<std::size_t>(g.ranks);
  std::vector<std::vector<unsigned>> has(n, std::vector<unsigned>(static_cast<std::size_t>(elements)));
  for (std::size_t r = 0; r < n; ++r) std::fill(has[r].begin(), has[r].end(), 1u << r);
  std::vector<long> sent(n, 0);
  for (int t = 0; t < rounds; ++t) {
    auto const before = has;
    for (std::size_t r = 0; r < n; ++r) {
      send::Move const m = R::move(elements, static_cast<int>(r), g, t);
      if (!m.any()) continue;
      REQUIRE((m.peer < g.ranks && m.peer != static_cast<int>(r) && m.begin >= 0 && m.end <= elements));
      sent[static_cast<std::size_t>(m.peer)] += m.end - m.begin;
      for (auto i = static_cast<std::size_t>(m.begin); i < static_cast<std::size_t>(m.end); ++i) {
        unsigned const theirs = before[static_cast<std::size_t>(m.peer)][i];
        if (m.add) REQUIRE((has[r][i] & theirs) == 0);  // nothing twice
        has[r][i] = m.add ? has[r][i] | theirs : theirs;
      }
    }
  }
  for (auto const& of : has) {
    for (unsigned h : of) REQUIRE(h == (1u << n) - 1);
  }
  for (std::size_t r = 0; r < n; ++r) CHECK(sent[r] == R::sent(elements, static_cast<int>(r), g));
}
/// Whoever writes knows that those who had to read what stood there have done so.
template <class R> bool writes_what_is_read(long elements, send::Group g) {
  auto const n = static_cast<std::size_t>(g.ranks);
  auto const at = known<R>(elements, g);
  for (int t = 0; t < R::rounds(elements, g); ++t) {
    for (std::size_t w = 0; w < n; ++w) {
      send::Move const write = R::move(elements, static_cast<int>(w), g, t);
      if (!write.any()) continue;
      for (std::size_t q = 0; q < n; ++q) {
        for (int s = 0; s <= t; ++s) {
          send::Move const read = R::move(elements, static_cast<int>(q), g, s);
          bool const meets = read.any() && read.peer == static_cast<int>(w) &&
                             std::max(read.begin, write.begin) < std::min(read.end, write.end);
          if (meets && at[static_cast<std::size_t>(t)][w][q] <= s) return true;
        }
      }
    }
  }
  return false;
}
/// With a mistake: partners add each other's whole at once, each while the other still reads.
struct InPlace : send::Route {
  static constexpr int rounds(long, send::Group g) { return send::log2_up(g.ranks); }
  static constexpr send::Move move(long elements, int rank, send::Group, int round) {
    return {rank ^ (1 << round), 0, elements, true};
  }
  static constexpr long sent(long elements, int, send::Group g) { return elements * send::log2_up(g.ranks); }
};
template <class R> void is_right(long elements, send::Group g) {
  is_an_all_reduce<R>(elements, g);
  CHECK(!writes_what_is_read<R>(elements, g));
}

template <class R> void on_any_ranks() {
  for (int n = 1; n <= 17; ++n) {
    for (long elements : ways_to_cut) is_right<R>(elements, {n, 1, 4});
  }
}
template <class R> void on_nodes(int per_node, int per_replica = 1) {
  for (int nodes = 1; nodes <= 5; ++nodes) {
    for (long elements : ways_to_cut) is_right<R>(elements, {per_node * per_replica * nodes, per_replica, 4});
  }
}

// 2(n-1)/n of the elements where n divides them, on any number of ranks by a ring; 2 log2 n rounds or 2(n-1).
template <class R> constexpr bool sends_the_least(int n, long elements) {
  for (int r = 0; r < n; ++r) {
    if (R::sent(elements, r, {n, 1, 4}) * n != 2 * (n - 1) * elements) return false;
  }
  return true;
}
static_assert(sends_the_least<Ring>(2, 1000) && sends_the_least<Ring>(5, 1000) && sends_the_least<Ring>(8, 1000));
static_assert(sends_the_least<HalvingDoubling>(2, 1024) && sends_the_least<HalvingDoubling>(16, 1024));
static_assert(Ring::rounds(1000, {5, 1, 4}) == 8 && HalvingDoubling::rounds(1024, {16, 1, 4}) == 8);
// The tree's own: the root sends to log2 n children; a leaf, once up.
static_assert(Tree::sent(100, 0, {8, 1, 4}) == 300 && Tree::sent(100, 7, {8, 1, 4}) == 100);
static_assert(Tree::rounds(100, {9, 1, 4}) == 8);
// Of five ranks the first two are folded: the second gives all it has.
static_assert(HalvingDoubling::sent(100, 1, {5, 1, 4}) == 100 && HalvingDoubling::sent(100, 0, {5, 1, 4}) == 250);

// Between two nodes all ranks of a node together send the elements once, not once for each rank.
template <class R> constexpr long between(long elements, int per_node, int nodes) {
  long sum = 0;
  for (int r = 0; r < per_node; ++r) sum += send::sent_across<R>(elements, r, {per_node * nodes, 1, 4}, per_node);
  return sum;
}
static_assert(between<Hierarchical<3>>(900, 3, 2) == 900 && between<Hierarchical<4>>(1024, 4, 2) == 1024);
static_assert(between<Hierarchical<3>>(900, 3, 5) == 2 * 900 * 4 / 5);
static_assert(between<Hierarchical<5>>(900, 5, 3) == 2 * 900 * 2 / 3);

// By the cost model short messages want few rounds and long ones few bytes; where n is no power of two, a ring.
using Quick = AutoOver<Link<1'000, 10'000>>;
static_assert(Quick::pick(10, {8, 1, 4}) == Quick::Pick::HalvingDoubling);
static_assert(Quick::pick(10, {6, 1, 4}) == Quick::Pick::HalvingDoubling);
static_assert(Quick::pick(1'000'000, {6, 1, 4}) == Quick::Pick::Ring);
static_assert(Quick::pick(100'000, {8, 1, 4}) == Quick::Pick::HalvingDoubling);
static_assert(AutoOver<Link<1'000'000, 10'000>>::pick(100'000, {6, 1, 4}) ==
              decltype(AutoOver<Link<1'000'000, 10'000>>{})::Pick::HalvingDoubling);

}  // namespace

TEST_CASE("ring, tree, halving-doubling and Auto on 1 to 17 ranks") {
  on_any_ranks<Ring>();
  on_any_ranks<Tree>();
  on_any_ranks<HalvingDoubling>();
  on_any_ranks<Auto>();
  on_any_ranks<Quick>();
}
TEST_CASE("an algorithm whose ranks overwrite what is being read is caught") {
  is_an_all_reduce<InPlace>(8, {4, 1, 4});
  CHECK(writes_what_is_read<InPlace>(8, {4, 1, 4}));
}
TEST_CASE("hierarchical on nodes of 1 to 5 replicas, and of replicas that are split") {
  on_nodes<Hierarchical<1>>(1);
  on_nodes<Hierarchical<2>>(2);
  on_nodes<Hierarchical<3>>(3);
  on_nodes<Hierarchical<4>>(4);
  on_nodes<Hierarchical<5>>(5);
  on_nodes<Hierarchical<2>>(2, 3);
  CHECK(!Hierarchical<4>::fits({6, 1, 4}));
}
TEST_CASE("the modelled cost is the sum of its parts") {
  using C = send::Cost<Link<1'000, 1'000>>;  // a microsecond, and a nanosecond a byte
  CHECK(C::ring(1e6, 4) == doctest::Approx(2 * 3 * 1e3 + 2 * 0.75 * 1e6 + 0.75 * 1e5));
  CHECK(C::halving_doubling(1e6, 4) == doctest::Approx(2 * 2 * 1e3 + 2 * 0.75 * 1e6 + 0.75 * 1e5));
  CHECK(C::halving_doubling(1e6, 5) == doctest::Approx(C::halving_doubling(1e6, 4) + 2 * (1e3 + 1e6) + 1e5));
  CHECK(C::tree(1e6, 5) == doctest::Approx(3 * (2 * 1e3 + 2 * 1e6 + 1e5)));
}
