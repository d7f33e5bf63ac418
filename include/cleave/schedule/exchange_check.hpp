// schedule/exchange_check.hpp - runs an exchange of all ranks on sets of summands instead of numbers: what is lost, twice or too early?
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "encoding.hpp"
#include "transfer.hpp"

namespace cleave::schedule {

/// What an element of a tensor is: the element of the whole that it belongs to (-1: nothing has been written), which
/// summands it has, a bit each, and how often it has been encoded.
struct Content {
  long element = -1;
  std::uint64_t summands = 0;
  int encoded = 0;
  friend constexpr bool operator==(Content, Content) = default;
};
/// Of an element behind a rank's part of a value, where parts are unequal.
inline constexpr Content zero{(1L << 62), 1};
constexpr std::uint64_t bits(int begin, int end) {
  std::uint64_t const below = end < 64 ? (std::uint64_t{1} << end) - 1 : ~std::uint64_t{0};
  return end > begin ? below >> begin << begin : 0;
}
/// Whether two sums are siblings in the tree of the ordered sum over so many leaves. Those behind them are of further
/// trees, which are added one after the other.
constexpr bool are_siblings(std::uint64_t a, std::uint64_t b, int leaves) {
  if (std::countr_zero(a) > std::countr_zero(b)) return are_siblings(b, a, leaves);
  int const tree = std::countr_zero(b) / leaves, first = tree * leaves;
  if (std::countr_zero(a) < first) return a == bits(0, first) && b == bits(first, first + leaves);
  a >>= first;
  b >>= first;
  int const begin = std::countr_zero(a), half = std::countr_zero(b) - begin, end = begin + 2 * half;
  if (!std::has_single_bit(static_cast<unsigned>(half)) || begin % (2 * half) != 0) return false;
  return a == bits(begin, begin + half) && b == bits(begin + half, end < leaves ? end : leaves);
}

/// The first thing that is wrong with an exchange, or nothing.
struct ExchangeFault {
  std::string_view what;
  int rank = 0, round = 0;
  constexpr explicit operator bool() const { return !what.empty(); }
};

inline constexpr int most_checked_ranks = 16;

/// An element in the memory of a rank, while an exchange is checked.
struct CheckedElement {
  Content content;
  short written = -1;                   // in which round
  short read[most_checked_ranks] = {};  // by each other rank: the round after that
};

/// Runs `each(rank, visitor)`, what a rank does, round by round. Ranks wait only for those that they read, so a write
/// must be known to come after all reads of what was there: each rank's knowledge of how many rounds the others have
/// ended is kept, as a vector clock. `memory[i]` are size() elements. What is to be done says a Goal:
///   Content input(int rank, Location, long element) const;  // before the first round; Content{}: nothing
///   int tensors() const;                                    // of the result, whose elements are written once each
///   Location where(int rank, int tensor) const;
///   Run results(int rank, int tensor) const;                // its elements
///   Content result(int rank, int tensor, long element) const;
///   bool takes_part(int rank) const;  // else others may read it, and it writes nothing
///   int leaves() const;  // two sums that are added are siblings in the tree over these; 0: in any order
template <class Each, class Goal, class Elements> class ExchangeCheck {
 public:
  constexpr ExchangeCheck(int ranks, Each const& each, Goal const& goal) : ranks_(ranks), each_(each), goal_(goal) {
    int rounds = -1;
    for (int r = 0; r < ranks; ++r) {
      tensors_.rounds = 0;
      each_(r, tensors_);
      if (!goal_.takes_part(r)) continue;
      if (rounds >= 0 && tensors_.rounds != rounds) fault_ = {"has not as many rounds as the ranks before", r};
      rounds = tensors_.rounds;
    }
    tensors_.rounds = rounds < 0 ? 0 : rounds;
    if (ranks > most_checked_ranks) fault_ = {"is one of more than 16: that is not checked", ranks};
    if (tensors_.too_many) fault_ = {"uses more than 96 tensors: that is not checked"};
  }
  constexpr long size() const { return tensors_.size() * ranks_; }
  constexpr ExchangeFault run(Elements& memory) {
    if (fault_) return fault_;
    memory_ = &memory;
    for (long i = 0; i < size(); ++i) {  // one by one: g++ 12 gives constants the changed elements of the call before
      CheckedElement& e = memory[static_cast<std::size_t>(i)];
      e.content.element = e.written = -1;
      for (short& round : e.read) round = 0;
    }
    for (round_ = 0; round_ < tensors_.rounds && !fault_; ++round_) {
      learn();
      for (rank_ = 0; rank_ < ranks_ && !fault_; ++rank_) {
        RunRound one{*this};
        each_(rank_, one);
        one.end();
      }
    }
    for (int r = 0; r < ranks_ && tensors_.rounds > 0 && !fault_; ++r) {
      if (goal_.takes_part(r)) finished(r);
    }
    return fault_;
  }

 private:
  static constexpr int most_tensors = 96, most_sources = 128, most_depth = 40;

  /// The tensors of all ranks, and of each the elements from the lowest to the highest that are written or read.
  struct Tensors {
    struct TensorUse {
      Location in;
      long begin = 0, end = 0;
    };
    TensorUse tensor[most_tensors]{};
    int tensors = 0, rounds = 0;
    bool too_many = false;
    constexpr void round() { ++rounds; }
    constexpr void write(Write const& w) { take(w.to, w.at); }
    constexpr void source(Source const& s) { take(s.in, s.at); }
    constexpr void take(Location in, Strided at) {
      int t = 0;
      while (t < tensors && !(tensor[t].in == in)) ++t;
      long const begin = at.begin, end = at.element(at.size() - 1) + 1;
      if (t == most_tensors) {
        too_many = true;
        return;
      }
      if (t == tensors) tensor[tensors++] = {in, begin, end};
      if (begin < tensor[t].begin) tensor[t].begin = begin;
      if (end > tensor[t].end) tensor[t].end = end;
    }
    constexpr long size() const {
      long sum = 0;
      for (int t = 0; t < tensors; ++t) sum += tensor[t].end - tensor[t].begin;
      return sum;
    }
    /// Among all elements; -1 for one that nobody uses.
    constexpr long number(Location in, long element) const {
      long before = 0;
      for (int t = 0; t < tensors; before += tensor[t].end - tensor[t].begin, ++t) {
        if (tensor[t].in == in)
          return element >= tensor[t].begin && element < tensor[t].end ? before + element - tensor[t].begin : -1;
      }
      return -1;
    }
  };

  /// The ranks that a rank reads in a round.
  struct Peers {
    int wanted, now = -1;
    bool read[most_checked_ranks]{};
    constexpr void round() { ++now; }
    constexpr void write(Write const&) {}
    constexpr void source(Source const& s) { read[s.rank] = read[s.rank] || now == wanted; }
  };
  constexpr void learn() {
    Clock before[most_checked_ranks];
    for (int r = 0; r < ranks_; ++r) before[r] = knows_[r];
    for (int r = 0; r < ranks_; ++r) {
      Peers peers{round_};
      each_(r, peers);
      for (int q = 0; q < ranks_; ++q) {
        if (!peers.read[q]) continue;
        for (int k = 0; k < ranks_; ++k) {
          int const told = k == q ? round_ : before[q].ended[k];
          if (told > knows_[r].ended[k]) knows_[r].ended[k] = told;
        }
      }
    }
  }

  /// Does what a rank does in this round.
  struct RunRound {
    ExchangeCheck& check;
    int now = -1, sources = 0;
    bool writes = false;
    Write to{};
    Source from[most_sources]{};

    constexpr void round() {
      end();
      ++now;
    }
    constexpr void write(Write const& w) {
      end();
      if (now != check.round_) return;
      to = w;
      writes = true;
    }
    constexpr void source(Source const& s) {
      if (now != check.round_) return;
      if (sources == most_sources) return check.refuse("has more than 128 sources at once: that is not checked");
      if (to.what != Opcode::Call && s.at.size() != to.at.size()) check.refuse("reads and writes different sizes");
      from[sources++] = s;
    }
    constexpr void end() {
      for (long e = 0; writes && e < to.at.size() && !check.fault_; ++e)
        check.put(to, e, to.what == Opcode::Clear ? zero : sum(e));
      writes = false;
      sources = 0;
    }
    constexpr Content sum(long e) const {
      Content stack[most_depth + 1];
      int depth = 0, last = -1;  // of messages: the first summand of the one before
      for (int i = 0; i < sources && !check.fault_; ++i) {
        bool const calls = to.what == Opcode::Call;
        if (calls && ++i == sources) check.refuse("calls a kernel on half a pair");
        if (check.fault_) break;
        stack[depth++] = calls ? check.product(from[i - 1], from[i], to.at.element(e)) : check.read(from[i], e);
        if (to.what == Opcode::Decode) {
          std::uint64_t const summands = stack[depth - 1].summands;
          int const first = summands == 0 ? last : std::countr_zero(summands);
          if (first < last || from[i].merges != (i > 0))
            check.refuse("adds messages in another order than that of the ranks");
          last = first;
        }
        for (int m = 0; m < from[i].merges && !check.fault_; ++m) {
          if (depth < 2) {
            check.refuse("adds what is not there");
          } else {
            --depth;
            stack[depth - 1] = check.add(stack[depth - 1], stack[depth]);
          }
        }
        if (depth == most_depth) check.refuse("keeps more than 39 sums: that is not checked");
      }
      if (depth != 1) check.refuse("does not end with one sum");
      return stack[0];
    }
  };

  constexpr void refuse(std::string_view what) {
    if (!fault_) fault_ = {what, rank_, round_};
  }
  constexpr CheckedElement* at(int rank, Location in, long element) {
    long const number = tensors_.number(in, element);
    if (number < 0) return nullptr;
    CheckedElement& e = (*memory_)[static_cast<std::size_t>(tensors_.size() * rank + number)];
    if (e.content.element < 0) e.content = goal_.input(rank, in, element);
    return &e;
  }
  constexpr Content read(Source const& s, long i) {
    CheckedElement& e = *at(s.rank, s.in, s.at.element(i));
    if (e.content.element < 0) refuse("reads what nobody has written");
    if (s.rank == rank_) return e.content;
    if (e.written == round_) refuse("reads what its peer writes in the same round");
    e.read[rank_] = static_cast<short>(round_ + 1);
    return e.content;
  }
  /// Of inputs and output gradients of the same samples, element by element in order.
  constexpr Content product(Source const& x, Source const& dy, long element) {
    Content const first = read(x, 0);
    for (Source const* s : {&x, &dy}) {
      Content const begin = read(*s, 0);
      for (long i = 0; element == 0 && i < s->at.size(); ++i) {
        Content const c = read(*s, i);
        if (c.element != begin.element + i || c.summands != first.summands) refuse("calls a kernel on other samples");
      }
    }
    return {goal_.result(rank_, 0, element).element, first.summands};
  }
  constexpr Content add(Content a, Content b) {
    if (a.element != b.element) refuse("adds different elements");
    if ((a.summands & b.summands) != 0) refuse("adds a summand twice");
    bool const both = a.summands != 0 && b.summands != 0;
    if (both && goal_.leaves() > 0 && !fault_ && !are_siblings(a.summands, b.summands, goal_.leaves()))
      refuse("adds in another order than the tree's");
    if (both && a.encoded != b.encoded) refuse("adds what is encoded to what is not");
    return {a.element, a.summands | b.summands, a.encoded > b.encoded ? a.encoded : b.encoded};
  }
  constexpr void put(Write const& w, long i, Content c) {
    if (fault_) return;
    CheckedElement& e = *at(rank_, w.to, w.at.element(i));
    for (int q = 0; q < ranks_; ++q) {
      if (q != rank_ && e.read[q] > knows_[rank_].ended[q]) refuse("writes what a peer may not have read yet");
    }
    for (int t = 0; e.written >= 0 && t < goal_.tensors(); ++t) {
      if (w.to == goal_.where(rank_, t)) refuse("writes a part of the result twice");
    }
    e.content = c;
    e.content.encoded += w.what == Opcode::Encode;
    e.written = static_cast<short>(round_);
  }
  constexpr void finished(int rank) {
    for (int t = 0; t < goal_.tensors(); ++t) {
      Run const of = goal_.results(rank, t);
      for (long i = of.begin; i < of.begin + of.count && !fault_; ++i) {
        CheckedElement const* const e = at(rank, goal_.where(rank, t), i);
        if (!e || e->written < 0) {
          fault_ = {"does not get all of the result", rank, round_};
        } else if (!(e->content == goal_.result(rank, t, i))) {
          fault_ = {"gets a wrong result", rank, round_};
        }
      }
    }
  }

  struct Clock {
    int ended[most_checked_ranks]{};  // rounds of each rank
  };
  int ranks_, round_ = 0, rank_ = 0;
  Each const& each_;
  Goal const& goal_;
  Elements* memory_ = nullptr;
  Tensors tensors_{};
  Clock knows_[most_checked_ranks]{};
  ExchangeFault fault_{};
};

}  // namespace cleave::schedule
