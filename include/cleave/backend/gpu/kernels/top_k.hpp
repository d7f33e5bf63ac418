// backend/gpu/kernels/top_k.hpp - finds, writes and adds the elements of largest magnitude by kernels: the bits of send/top_k.hpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/verb.hpp"
#include "../../../send/top_k.hpp"
#include "coder.hpp"

namespace cleave::backend::gpu {

/// The k-th largest magnitude is found four bits at a time, from the top: each block counts, among the elements of its
/// part that agree with the digits found so far, how many have which next digit; the next round begins with the sum of
/// all blocks' counts. The last round counts those above it and those equal to it, so that every block knows where its
/// elements begin in the message.
template <class A> struct Selection {
  static constexpr int rounds = 8, digits = 16, most = 128;  // blocks
  struct Found {
    std::uint32_t size,
        of_it;  // the digits found of the k-th magnitude, and how many elements that agree with them belong to the k
  };
  /// In a workspace.
  struct Board {
    std::uint32_t counts[2][most][digits];  // of the rounds, in turn
    Found found[rounds + 1];                // before each round, the one that places included
  };
  struct Args {
    A* v;  // left + g, or g, which is not changed
    bool keeps;
    long n;
    std::uint32_t k;
    int round;
    Board* board;
    std::byte* out;
  };
  static int blocks(long n) {
    int const b = blocks_for(n, 4096);
    return b < most ? b : most;
  }
  template <class Ctx> CLEAVE_HD static long begin(Ctx const& c, Args const& a, int block) {
    return op::part_begin(a.n, block, c.blocks());
  }
};

/// One of its rounds, 0 to 8.
template <class A> struct CountSizes {
  using S = Selection<A>;
  using Args = typename S::Args;
  static constexpr int threads = 256, parts = threads / S::digits, stride = threads + parts;
  static constexpr int shared_bytes = (threads + S::digits + S::digits * stride) * 4;
  static constexpr bool alone = false;

  /// From the round before.
  template <class Ctx> CLEAVE_HD static typename S::Found found(Ctx const& c, Args const& a) {
    if (a.round == 0) return {0, a.k};
    auto* const each = reinterpret_cast<std::uint32_t*>(c.shared());
    std::uint32_t* const all = each + threads;
    int const digit = c.thread() % S::digits;
    std::uint32_t sum = 0;
    for (int b = c.thread() / S::digits; b < c.blocks(); b += parts)
      sum += a.board->counts[(a.round - 1) & 1][b][digit];
    each[c.thread()] = sum;
    c.barrier();
    if (c.thread() < S::digits) {
      sum = 0;
      for (int p = 0; p < parts; ++p) sum += each[p * S::digits + digit];
      all[digit] = sum;
    }
    c.barrier();
    typename S::Found f = a.board->found[a.round - 1];
    std::uint32_t next = S::digits - 1;
    for (; next > 0 && all[next] < f.of_it; --next) f.of_it -= all[next];
    f.size |= next << (32 - 4 * a.round);
    return f;
  }
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    typename S::Found const f = found(c, a);
    if (c.block() == 0 && c.thread() == 0) a.board->found[a.round] = f;
    bool const last = a.round == S::rounds;
    int const shift = 28 - 4 * a.round;
    std::uint32_t const mask = a.round == 0 ? 0u : last ? ~0u : ~0u << (shift + 4);
    std::uint32_t count[S::digits] = {};
    for (long i = S::begin(c, a, c.block()) + c.thread(); i < S::begin(c, a, c.block() + 1); i += threads) {
      std::uint32_t const s = send::size_of(a.v[i]);
      bool const agrees = (s & mask) == f.size;
      std::uint32_t const digit = last ? static_cast<std::uint32_t>(s > f.size ? 0 : 1) : s >> shift & 15u;
      CLEAVE_UNROLL
      for (std::uint32_t d = 0; d < S::digits; ++d) count[d] += digit == d && (agrees || (last && d == 0));
    }
    auto* const each = reinterpret_cast<std::uint32_t*>(c.shared());
    std::uint32_t* const table = each + threads + S::digits;  // a line a digit; no two share a bank
    CLEAVE_UNROLL
    for (int d = 0; d < S::digits; ++d) table[d * stride + c.thread()] = count[d];
    c.barrier();
    std::uint32_t const* const mine = table + c.thread() / parts * stride + c.thread() % parts;
    std::uint32_t part = 0;
    for (int t = 0; t < threads; t += parts) part += mine[t];
    each[c.thread()] = part;
    c.barrier();
    if (c.thread() >= S::digits) return;
    std::uint32_t sum = 0;
    for (int p = 0; p < parts; ++p) sum += each[c.thread() * parts + p];
    a.board->counts[a.round & 1][c.block()][c.thread()] = sum;
  }
};

/// Pairs in the order of their indices; computes their residuals.
template <class A> struct WritePairs {
  using S = Selection<A>;
  using Args = typename S::Args;
  static constexpr int threads = 256, shared_bytes = 2 * threads * 4;
  static constexpr bool alone = false;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    typename S::Found const f = a.board->found[S::rounds];
    auto* const above_of = reinterpret_cast<std::uint32_t*>(c.shared());
    std::uint32_t* const equal_of = above_of + threads;
    long const first = S::begin(c, a, c.block()), n = S::begin(c, a, c.block() + 1) - first;
    long const begin = first + op::part_begin(n, c.thread(), threads),
               end = first + op::part_begin(n, c.thread() + 1, threads);
    std::uint32_t above = 0, equal = 0;
    for (long i = begin; i < end; ++i) {
      std::uint32_t const s = send::size_of(a.v[i]);
      above += s > f.size;
      equal += s == f.size;
    }
    above_of[c.thread()] = above;
    equal_of[c.thread()] = equal;
    c.barrier();
    above = equal = 0;  // from here on: those before the next element
    for (int b = 0; b < c.block(); ++b) {
      above += a.board->counts[S::rounds & 1][b][0];
      equal += a.board->counts[S::rounds & 1][b][1];
    }
    for (int t = 0; t < c.thread(); ++t) above += above_of[t], equal += equal_of[t];
    for (long i = begin; i < end; ++i) {
      A const v = a.v[i];
      std::uint32_t const s = send::size_of(v);
      bool const taken = s > f.size || (s == f.size && equal < f.of_it);
      if (taken) {
        std::byte* const to = a.out + 8L * (above + (equal < f.of_it ? equal : f.of_it));
        send::store(to, static_cast<std::uint32_t>(i));
        send::store(to + 4, static_cast<float>(v));
        if (a.keeps) a.v[i] = v - static_cast<A>(static_cast<float>(v));
      }
      above += s > f.size;
      equal += s == f.size;
    }
  }
};

template <class A> struct SetToZero : Each {
  struct Args {
    A* to;
    long n;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.n, [&](long i) { a.to[i] = 0; });
  }
};
/// Adds a message, in which no two pairs have the same index.
template <class A> struct AddPairs : Each {
  struct Args {
    A* to;
    long n;
    std::byte const* in;
    long pairs;
  };
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.pairs, [&](long p) {
      long const i = send::load<std::uint32_t>(a.in + 8 * p);
      if (i < a.n) a.to[i] += static_cast<A>(send::load<float>(a.in + 8 * p + 4));
    });
  }
};

template <int PerMille, class A> struct Coded<TopK<PerMille>, A> {
  using C = TopK<PerMille>;
  using S = Selection<A>;
  static constexpr bool here = true;
  static_assert(sizeof(typename S::Board) <= C::workspace);

  template <class Q> static void write(Q const& q, A const* g, A* left, std::byte* out, long n, std::byte* workspace) {
    if (left) stream<AddTo<A, false>>(q, {left, g, n});
    typename S::Args a{left ? left : const_cast<A*>(g),
                       left != nullptr,
                       n,
                       static_cast<std::uint32_t>(C::kept(n)),
                       0,
                       reinterpret_cast<typename S::Board*>(workspace),
                       out};
    for (; a.round <= S::rounds; ++a.round) q.template launch<CountSizes<A>>(S::blocks(n), a);
    q.template launch<WritePairs<A>>(S::blocks(n), a);
  }
  template <class Q> static void sum(Q const& q, A* to, long n, Messages const& from) {
    q.template launch<SetToZero<A>>(blocks_each(n), {to, n});
    for (int s = 0; s < from.count; ++s) {
      q.template launch<AddPairs<A>>(blocks_each(C::kept(n)), {to, n, from.of[s], C::kept(n)});
    }
  }
};

}  // namespace cleave::backend::gpu
