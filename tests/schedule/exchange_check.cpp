// schedule/exchange_check.cpp - mistakes planted in exchanges are refused, each for what it is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <vector>

#include <doctest/doctest.h>
#include <cleave/op/verb.hpp>
#include <cleave/schedule/exchange_check.hpp>

using namespace cleave;
using namespace cleave::schedule;

namespace {

constexpr int ranks = 4, count = 10;
constexpr Location sums{Storage::Gradient}, weights{Storage::Weights};
constexpr Strided part(int i) {
  int const p = (i % ranks + ranks) % ranks;
  return {op::part_begin(count, p, ranks), 1, op::part_size(count, p, ranks), 0};
}
template <class V> constexpr void put(V& v, Opcode what, Location to, Strided at, std::initializer_list<Source> from) {
  v.write(Write{what, to, at});
  for (Source const& s : from) v.source(s);
}

/// One sum each, of `count` elements; all ranks apply the sum.
struct SumGoal {
  int tree = 0;
  constexpr bool takes_part(int) const { return true; }
  constexpr Content input(int rank, Location in, long e) const {
    return in == sums ? Content{e, bits(rank, rank + 1)} : Content{};
  }
  constexpr int tensors() const { return 1; }
  constexpr Location where(int, int) const { return weights; }
  constexpr Run results(int, int) const { return {0, count}; }
  constexpr Content result(int, int, long e) const { return {e, bits(0, ranks)}; }
  constexpr int leaves() const { return tree; }
};

enum class Mistake { None, Chunk, Twice, Early, Lost, Ahead, Order, Again, Size, Other, Nothing };

/// The ring, in which some rank makes a mistake.
struct RingWith {
  Mistake mistake;
  template <class V> constexpr void operator()(int rank, V& v) const {
    bool const errs = rank == 2;
    int const before = (rank + ranks - 1) % ranks;
    for (int k = 0; k < 2 * (ranks - 1); ++k) {
      bool const adds = k < ranks - 1, wrong = errs && k == 1;
      if (!(mistake == Mistake::Early && k == ranks - 1)) v.round();
      int const chunk = (adds ? rank - 1 - k : rank - (k - ranks + 1)) + (mistake == Mistake::Chunk && wrong);
      Strided const at = part(chunk);
      if (mistake == Mistake::Lost && wrong) continue;
      if (!adds) {
        put(v, Opcode::Copy, sums, at, {{before, sums, at}});
        continue;
      }
      put(v, Opcode::Reduce, sums, at, {{rank, sums, at}, {before, sums, at, 1}});
      if (mistake == Mistake::Again && wrong)
        put(v, Opcode::Reduce, sums, at, {{rank, sums, at}, {before, sums, at, 1}});
    }
    v.round();
    for (int i = 0; i < ranks; ++i) put(v, Opcode::Apply, weights, part(i), {{rank, sums, part(i)}});
    if (mistake == Mistake::Twice && errs) put(v, Opcode::Apply, weights, part(1), {{rank, sums, part(1)}});
  }
};
/// Each rank sums its part from all and reads the others'; `ordered` in the tree.
struct DirectWith {
  Mistake mistake;
  template <class V> constexpr void operator()(int rank, V& v) const {
    bool const errs = rank == 1;
    Strided const own = part(rank);
    v.round();
    v.write(Write{Opcode::Reduce, sums, own});
    bool const chain = mistake == Mistake::Order && errs;
    for (int i = 0; i < ranks; ++i) {
      Strided at = own;
      if (mistake == Mistake::Size && errs) ++at.width;
      v.source(Source{i, sums, at, chain ? i > 0 : i == 3 ? 2 : i == 1});
    }
    bool const early = mistake == Mistake::Early && rank == ranks - 1;
    if (!early) v.round();
    for (int i = 0; i < ranks; ++i) {
      if (mistake == Mistake::Lost && errs && i == 3) continue;
      int const owner = mistake == Mistake::Other && errs && i == 3 ? rank : i;
      Location const from = mistake == Mistake::Nothing && errs ? Location{Storage::Wire} : sums;
      put(v, Opcode::Apply, weights, part(i), {{owner, from, part(i)}});
    }
    if (early) v.round();
    if (mistake != Mistake::Ahead) return;
    v.round();  // nobody is waited for: a peer may still read this part
    put(v, Opcode::Copy, sums, own, {{rank, weights, own}});
  }
};

/// Each rank encodes what it has; all read all messages. One rank adds those of ranks 1 and 2 in turned order, or two
/// messages before it adds them to the others.
struct MessagesWith {
  Mistake mistake;
  template <class V> constexpr void operator()(int rank, V& v) const {
    Location const message{Storage::Message};
    Strided const all{0, 1, count, 0};
    v.round();
    put(v, Opcode::Encode, message, all, {{rank, sums, all}});
    v.round();
    v.write(Write{Opcode::Decode, {Storage::Wire}, all});
    for (int i = 0; i < ranks; ++i) {
      bool const errs = rank == 3;
      int const turned = errs && mistake == Mistake::Other && (i == 1 || i == 2) ? 3 - i : i;
      bool const inner = errs && mistake == Mistake::Order;
      v.source(Source{turned, message, all, inner ? (i == 1 ? 1 : i == 3 ? 2 : 0) : i > 0});
    }
    v.round();
    put(v, Opcode::Apply, weights, all, {{rank, {Storage::Wire}, all}});
  }
};
/// The same sums, encoded once.
struct MessageGoal : SumGoal {
  constexpr Content result(int, int, long e) const { return {e, bits(0, ranks), 1}; }
};

template <class Goal = SumGoal, class Each> constexpr std::string_view fault(Each each, int tree = 0) {
  Goal goal{};
  goal.tree = tree;
  std::array<CheckedElement, 200> memory{};
  ExchangeCheck<Each, Goal, decltype(memory)> check(ranks, each, goal);
  return check.run(memory).what;
}

static_assert(fault(RingWith{Mistake::None}) == "");
static_assert(fault(RingWith{Mistake::Chunk}) != "");
static_assert(fault(DirectWith{Mistake::None}, ranks) == "");
static_assert(fault(DirectWith{Mistake::Early}, ranks) != "");

}  // namespace

TEST_CASE("a ring with one wrong chunk, a sum that is taken twice, one that is left out") {
  CHECK(fault(RingWith{Mistake::None}) == "");
  CHECK(fault(RingWith{Mistake::Chunk}) == "adds a summand twice");
  CHECK(fault(RingWith{Mistake::Again}) == "adds a summand twice");
  CHECK(fault(RingWith{Mistake::Lost}) == "writes what a peer may not have read yet");  // it has not waited either
  CHECK(fault(DirectWith{Mistake::Lost}) == "does not get all of the result");
  CHECK(fault(DirectWith{Mistake::Other}) == "gets a wrong result");
  CHECK(fault(DirectWith{Mistake::Nothing}) == "reads what nobody has written");
}

TEST_CASE("a part that is written twice, a part that is read a round too early, or overwritten before it is read") {
  CHECK(fault(RingWith{Mistake::Twice}) == "writes a part of the result twice");
  CHECK(fault(RingWith{Mistake::Early}) == "writes what a peer may not have read yet");
  CHECK(fault(DirectWith{Mistake::Early}) == "reads what its peer writes in the same round");
  CHECK(fault(DirectWith{Mistake::Ahead}) == "writes what a peer may not have read yet");
}

TEST_CASE("messages that one rank adds in another order than the others") {
  CHECK(fault<MessageGoal>(MessagesWith{Mistake::None}) == "");
  for (Mistake m : {Mistake::Other, Mistake::Order})
    CHECK(fault<MessageGoal>(MessagesWith{m}) == "adds messages in another order than that of the ranks");
}

TEST_CASE("another order than the tree's, other sizes, other numbers of rounds") {
  CHECK(fault(DirectWith{Mistake::None}, ranks) == "");
  CHECK(fault(DirectWith{Mistake::Order}, ranks) == "adds in another order than the tree's");
  CHECK(fault(DirectWith{Mistake::Order}) == "");  // which any other sum may have
  CHECK(fault(DirectWith{Mistake::Size}) == "reads and writes different sizes");
  CHECK(fault([](int rank, auto& v) {
          v.round();
          if (rank == 3) v.round();
        }) == "has not as many rounds as the ranks before");
  CHECK(fault([](int rank, auto& v) {
          v.round();
          for (int i = 0; i < 97; ++i) put(v, Opcode::Copy, {Storage::Message, i}, part(0), {{rank, sums, part(0)}});
        }) == "uses more than 96 tensors: that is not checked");
}

TEST_CASE("siblings in the tree over six leaves") {
  CHECK(are_siblings(bits(0, 1), bits(1, 2), 6));
  CHECK(are_siblings(bits(2, 4), bits(0, 2), 6));
  CHECK(are_siblings(bits(0, 4), bits(4, 6), 6));  // the right half is not full
  CHECK(!are_siblings(bits(1, 2), bits(2, 3), 6));
  CHECK(!are_siblings(bits(0, 2), bits(2, 3), 6));
  CHECK(!are_siblings(bits(0, 3), bits(3, 6), 6));
  CHECK(are_siblings(bits(6, 8), bits(8, 10), 6));  // in the second tree
  CHECK(are_siblings(bits(12, 18), bits(0, 12), 6));
  CHECK(!are_siblings(bits(4, 6), bits(6, 8), 6));
  CHECK(!are_siblings(bits(6, 12), bits(12, 18), 6));
  CHECK(bits(3, 64) == ~std::uint64_t{7});
}
