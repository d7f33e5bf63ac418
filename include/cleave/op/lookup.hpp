// op/lookup.hpp - a table row for each token: y = W[x], "bT,VF->bTF". Its gradient is nonzero only in rows that it read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// Tokens (b, T), whole numbers from 0 in 32 bits, whatever the number format; W (Vocabulary, Features); y (b, T,
/// Features). A token outside the vocabulary gives a row of NaN, so that the run ends with the loss. If `Sparse`, only
/// nonzero rows of the gradient are sent. If `Numbers`, another operation gives the tokens, in the number format.
template <int Vocabulary, int Features, bool Sparse, bool Numbers = false, bool Split = false> struct Lookup : Base {
  static constexpr auto name = "embedding";
  static constexpr auto equation = Split ? "bT,iF->bTF" : "bT,VF->bTF";
  static constexpr bool contracts = Split, keeps_zeros = Split;
  static constexpr int weights = 1, tokens = Numbers ? 0 : Vocabulary, sparse_row = Sparse ? Features : 0;
  static constexpr int vocabulary = Vocabulary;
  static constexpr bool whole_numbers = Numbers;
  static constexpr bool reads_x = true;
  static constexpr Shape output(Shape x) { return Shape(static_cast<int>(x.size()), Features); }
  static constexpr Weight weight(int, Shape) { return {Shape(Vocabulary, Features), Start::He, 2, 1}; }  // deviation 1

  static constexpr long work(Shape x) { return Split ? output(x).size() : 0; }

  /// Of position k of those that this rank has, counted over samples.
  template <class T> CLEAVE_HD static long token(Operands<T> const& t, long k) {
    k = t.where.label_of(k);
    if constexpr (Numbers) {
      auto const v = static_cast<float>(static_cast<tensor::accumulate_t<T>>(t.x[k]));
      std::int32_t const token = token_of(v);
      return static_cast<float>(token) == v ? token : -1;
    } else {
      return t.tokens[k];
    }
  }
  static constexpr long none = -1, elsewhere = -2;
  /// The row of that token in the part of the table that this rank has.
  template <Local L, class T> CLEAVE_HD static long row(Operands<T> const& t, long k) {
    long const v = token(t, k);
    if (v < 0 || v >= Vocabulary) return none;
    if constexpr (L.w0[0] < Vocabulary) {
      return v < t.where.row || v >= t.where.row + t.where.rows ? elsewhere : v - t.where.row;
    } else {
      return v;
    }
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.y.size(), [&](long e) {
      long const from = row<L>(t, e / Features);
      t.y[e] = from < 0 ? static_cast<T>(from == none ? A{NAN} : A{0}) : t.w0[from * Features + e % Features];
    });
  }
  /// Tokens have no derivative.
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.x.size(), [&](long e) { t.dx[e] = static_cast<T>(A{0}); });
  }
  /// In the order of the tokens.
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(Features, [&](long f) {
      for (long v = 0; v < L.w0[0]; ++v) t.dw0[v * Features + f] = 0;
      for (long k = 0; k < L.rows * L.y[0]; ++k) {
        long const to = row<L>(t, k);
        if (to >= 0) t.dw0[to * Features + f] += static_cast<A>(t.dy[k * Features + f]);
      }
    });
  }
};

}  // namespace cleave::op
