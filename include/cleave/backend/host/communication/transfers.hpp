// backend/host/communication/transfers.hpp - runs what a list of an exchange says in shared memory: waits, fetches, copies, sums and clears.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "../../../schedule/offsets.hpp"
#include "member.hpp"
#include "sum.hpp"

namespace cleave::backend::host {

/// Of one rank. N is the format of the data; sums are in that of the accumulator of what is summed, and `rounded` ones
/// to N after each addition.
template <class N> class Transfers {
 public:
  Transfers(Member& m, schedule::Offsets const& at, bool rounded = false) : m_(&m), at_(at), rounded_(rounded) {}

  /// All rounds of a list of copies and sums. Blocks: each round waits for the ranks of a group, the end for those
  /// that read this one.
  void run(schedule::TransferList const& list, schedule::RankGroup const& group, int step) const {
    for (int round = 0; round < list.rounds(); ++round) {
      meet(group, step, round + 1);
      run_round(list, round);
    }
    meet(group, step, list.rounds() + 1);  // peers have read what this rank will overwrite
  }
  /// One round, which reads no peer or whose peers are ready.
  void run_round(schedule::TransferList const& list, int round = 0) const {
    list.each(round, [&](schedule::Write const& w, std::span<schedule::Source const> from) {
      if (w.what == schedule::Opcode::Clear) return clear(w);
      w.what == schedule::Opcode::Copy ? copy(w, from[0]) : sum(w, from);
    });
  }
  void clear(schedule::Write const& w) const {
    elements(w.to, w.at, [&]<class To>(To* to) {
      for (long b = 0; b < w.at.blocks; ++b) {
        for (long r = 0; r < w.at.count; ++r) std::fill_n(to + b * w.at.block_apart + r * w.at.apart, w.at.width, To{});
      }
    });
  }
  void copy(schedule::Write const& w, schedule::Source const& s) const {
    fetch(s);
    bool const dense = w.at.dense() && s.at.dense();
    long const blocks = dense ? 1 : w.at.blocks, lines = dense ? 1 : w.at.count, width = w.at.size() / blocks / lines;
    elements(w.to, w.at, [&]<class To>(To* first_to) {
      elements(s, [&]<class From>(From const* first_from) {
        for (long b = 0; b < blocks; ++b) {
          To* to = first_to + b * w.at.block_apart;
          From const* from = first_from + b * s.at.block_apart;
          for (long r = 0; r < lines; ++r, to += w.at.apart, from += s.at.apart) copy_line(to, from, width);
        }
      });
    });
  }
  void sum(schedule::Write const& w, std::span<schedule::Source const> from) const {
    bool dense = w.at.dense();
    for (schedule::Source const& s : from) {
      fetch(s);
      dense = dense && s.at.dense();
    }
    long const blocks = dense ? 1 : w.at.blocks, lines = dense ? 1 : w.at.count, width = w.at.size() / blocks / lines;
    bool const two = from.size() == 2 && from[1].merges == 1;
    elements(w.to, w.at, [&]<class To>(To* first) {
      for (long b = 0; b < blocks; ++b) {
        To* const to = first + b * w.at.block_apart;
        two ? sum_two(to, w.at.apart, from, b, lines, width) : sum_all(to, w.at.apart, from, b, lines, width);
      }
    });
  }

  /// Counts what is read, and brings it here if its rank is in another process.
  void fetch(schedule::Source const& s) const {
    if (s.rank == m_->rank) return;
    schedule::Format const& f = at_.program->format;
    m_->read_message(s.rank, s.at.size(), schedule::bytes(s.in.in, s.at.size(), f));
    if (m_->world->here(s.rank)) return;
    long const from = at_(s.in, s.at);
    auto const bytes = [&](long elements) { return schedule::bytes(s.in.in, elements, f); };
    if (s.at.dense()) return m_->world->fetch(m_->rank, {s.rank, from, bytes(s.at.size())});
    m_->world->fetch(m_->rank, {s.rank, from, bytes(s.at.width), s.at.count, bytes(s.at.apart), s.at.blocks,
                                bytes(s.at.block_apart)});
  }
  template <class E> E* address(int rank, schedule::Location in, schedule::Strided at) const {
    return m_->at<E>(rank, at_(in, at));
  }
  template <class E> E const* address(schedule::Source const& s) const { return address<E const>(s.rank, s.in, s.at); }
  /// visit(the first of these elements), by their format.
  template <class Visit> void elements(schedule::Location in, schedule::Strided at, Visit visit) const {
    visit_at(m_->rank, in, at, visit);
  }
  template <class Visit> void elements(schedule::Source const& s, Visit visit) const {
    visit_at(s.rank, s.in, s.at, [&]<class E>(E* first) { visit(static_cast<E const*>(first)); });
  }
  schedule::Offsets& offsets() { return at_; }
  schedule::Offsets const& offsets() const { return at_; }
  bool rounded() const { return rounded_; }

 private:
  template <class X, class Y>
  static constexpr bool accumulate_alike = std::is_same_v<tensor::accumulate_t<X>, tensor::accumulate_t<Y>>;

  template <class To, class From> static void copy_line(To* to, From const* from, long width) {
    if constexpr (std::is_same_v<To, From>) {
      std::memcpy(to, from, static_cast<std::size_t>(width) * sizeof(To));
    } else if constexpr (accumulate_alike<To, From>) {
      tensor::each(width, [&](long i) { to[i] = static_cast<To>(from[i]); });
    }
  }
  template <class Visit> void visit_at(int rank, schedule::Location in, schedule::Strided at, Visit visit) const {
    using enum schedule::Storage;
    switch (in.in) {
      case Buffer:
      case Wire:
      case Factors:
      case Copies:
      case OwnWeights:
        return visit(address<N>(rank, in, at));
      case OwnGradient:
        if (!at_.program->format.keeps_sums) return visit(address<N>(rank, in, at));
        return visit(address<tensor::accumulate_t<N>>(rank, in, at));
      case Statistic:
      case BatchSum:
        return visit(address<tensor::batch_sum_t<N>>(rank, in, at));
      case Squares:
      case Norm:
        return visit(address<double>(rank, in, at));
      default:
        return visit(address<tensor::accumulate_t<N>>(rank, in, at));
    }
  }
  void meet(schedule::RankGroup const& group, int step, int phase) const {
    m_->reach(step, phase);
    m_->await(group, step, phase);
  }
  template <class To>
  using rounded_as = std::conditional_t<std::is_same_v<tensor::accumulate_t<To>, tensor::accumulate_t<N>>, N,
                                        tensor::accumulate_t<To>>;
  template <class To>
  void sum_two(To* to, long apart, std::span<schedule::Source const> from, long block, long lines, long n) const {
    using A = tensor::accumulate_t<To>;
    elements(from[0], [&]<class X>(X const* x) {
      elements(from[1], [&]<class Y>(Y const* y) {
        if constexpr (accumulate_alike<To, X> && accumulate_alike<To, Y>) {
          for (long r = 0; r < lines; ++r) {
            To* const z = to + r * apart;
            X const* const u = x + block * from[0].at.block_apart + r * from[0].at.apart;
            Y const* const v = y + block * from[1].at.block_apart + r * from[1].at.apart;
            auto const both = [=](long i) { return static_cast<A>(u[i]) + static_cast<A>(v[i]); };
            if (rounded_) {
              tensor::each(n, [=](long i) { z[i] = static_cast<To>(rounded_to<rounded_as<To>>(both(i))); });
            } else {
              tensor::each(n, [=](long i) { z[i] = static_cast<To>(both(i)); });
            }
          }
        }
      });
    });
  }
  template <class To>
  void sum_all(To* to, long apart, std::span<schedule::Source const> from, long block, long lines, long n) const {
    using A = tensor::accumulate_t<To>;
    for (long r = 0; r < lines; ++r, to += apart) {
      auto const line = [&](std::size_t k, auto visit) {
        elements(from[k], [&]<class X>(X const* x) {
          if constexpr (accumulate_alike<To, X>) visit(x + block * from[k].at.block_apart + r * from[k].at.apart);
        });
      };
      sum_on_stack<rounded_as<To>, A>(from, n, rounded_, line, [&](long first, long count, A const* v) {
        tensor::each(count, [&](long i) { to[first + i] = static_cast<To>(v[i]); });
      });
    }
  }

  Member* m_;
  schedule::Offsets at_;
  bool rounded_;
};

}  // namespace cleave::backend::host
