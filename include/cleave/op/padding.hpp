// op/padding.hpp - which positions of a sequence are padding, and operations over those that are not.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// What operations over positions that are no padding have in common: their second input is the mask of a
/// sample, (b, T), 1 where a position counts and 0 where it is padding.
struct Masked : Base {
  static constexpr int inputs = 2;
  static constexpr bool of_sequences = true, takes_mask = true;

  /// A mask has no derivative.
  template <Local L, class Ctx, class T> CLEAVE_HD static void clear_mask_gradient(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    if (t.dx2) ctx.each(L.rows * L.x2.size(), [&](long e) { t.dx2[e] = static_cast<T>(A{0}); });
  }
};

/// y (b, T): 0 where the token (b, T) is `Padding`, else 1. If `Numbers`, tokens are in the number format.
template <int Vocabulary, int Padding, bool Numbers = false> struct TokenMask : Base {
  static constexpr auto name = "mask";
  static constexpr auto equation = "bT->bT";
  static constexpr int padding = Padding;
  static constexpr int tokens = Numbers ? 0 : Vocabulary;
  static constexpr int vocabulary = Vocabulary;
  static constexpr bool whole_numbers = Numbers;
  static constexpr Shape output(Shape x) { return x.flat(); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.y.size(), [&](long e) {
      bool padding = false;
      if constexpr (Numbers) padding = static_cast<A>(t.x[e]) == A{Padding};
      if constexpr (!Numbers) padding = t.tokens[e] == Padding;
      t.y[e] = static_cast<T>(A(padding ? 0 : 1));
    });
  }
  /// Tokens have no derivative.
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.x.size(), [&](long e) { t.dx[e] = static_cast<T>(A{0}); });
  }
};

/// x (b, T, F), y (b, T): 0 where all features of a position are 0, else 1.
struct ZeroMask : Base {
  static constexpr auto name = "mask";
  static constexpr auto equation = "bTF->bT";
  static constexpr bool of_sequences = true, masks_zeros = true;
  static constexpr int padding = 0;
  static constexpr Shape output(Shape x) { return Shape(x[0]); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long each = L.x.size() / L.y.size();
    ctx.each(L.rows * L.y.size(), [&](long e) {
      bool counts = false;
      for (long f = 0; f < each; ++f) counts = counts || static_cast<A>(t.x[e * each + f]) != A{0};
      t.y[e] = static_cast<T>(A(counts ? 1 : 0));
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.x.size(), [&](long e) { t.dx[e] = static_cast<T>(A{0}); });
  }
};

template <class T> CLEAVE_HD bool counts(T mask) {
  using A = tensor::accumulate_t<T>;
  return static_cast<A>(mask) != A{0};
}

/// x (b, T, F), mask (b, T); y (b, F): what the last position that counts has; 0 if none does.
struct TakeLastValid : Masked {
  static constexpr auto name = "last_valid_position";
  static constexpr auto equation = "bTF,bT->bF";
  static constexpr bool reads_x = true;  // the mask
  static constexpr Shape output(Shape x) { return x.below(); }

  /// -1: none.
  template <long Positions, class T> CLEAVE_HD static long last(T const* mask) {
    long at = Positions - 1;
    while (at >= 0 && !counts(mask[at])) --at;
    return at;
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.y.size(), all = L.x.size(), positions = L.x2.size();
    ctx.each(L.rows * n, [&](long e) {
      long const at = last<positions>(t.x2 + e / n * positions);
      t.y[e] = at < 0 ? static_cast<T>(A{0}) : t.x[e / n * all + at * n + e % n];
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.y.size(), all = L.x.size(), positions = L.x2.size();
    if (t.dx) {
      ctx.each(L.rows * all, [&](long e) {
        bool const is_last = e % all / n == last<positions>(t.x2 + e / all * positions);
        t.dx[e] = is_last ? t.dy[e / all * n + e % n] : static_cast<T>(A{0});
      });
    }
    clear_mask_gradient<L>(ctx, t);
  }
};

/// x (b, T, F); y (b, F): the mean over positions.
struct MeanPositions : Base {
  static constexpr auto name = "mean_over_positions";
  static constexpr auto equation = "bTf->bf";
  static constexpr bool of_sequences = true, linear = true;
  static constexpr Shape output(Shape x) { return x.below(); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.y.size(), all = L.x.size();
    ctx.each(L.rows * n, [&](long e) {
      A sum = 0;
      for (long f = e % n; f < all; f += n) sum += static_cast<A>(t.x[e / n * all + f]);
      t.y[e] = static_cast<T>(sum / A(all / n));
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.y.size(), all = L.x.size();
    ctx.each(L.rows * all,
             [&](long e) { t.dx[e] = static_cast<T>(static_cast<A>(t.dy[e / all * n + e % n]) / A(all / n)); });
  }
};

/// x (b, T, F), mask (b, T); y (b, F): the mean over the positions that count; 0 if none does.
struct MeanValidPositions : Masked {
  static constexpr auto name = "mean_over_valid_positions";
  static constexpr auto equation = "bTf,bT->bf";
  static constexpr bool reads_x = true, keeps_zeros = true;  // the mask is read
  static constexpr Shape output(Shape x) { return x.below(); }

  template <class A, long Positions, class T> CLEAVE_HD static A count(T const* mask) {
    A n = 0;
    for (long p = 0; p < Positions; ++p) n += counts(mask[p]) ? A{1} : A{0};
    return n > A{0} ? n : A{1};
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.y.size(), all = L.x.size(), positions = L.x2.size();
    ctx.each(L.rows * n, [&](long e) {
      T const* const mask = t.x2 + e / n * positions;
      A sum = 0;
      for (long p = 0; p < positions; ++p)
        if (counts(mask[p])) sum += static_cast<A>(t.x[e / n * all + p * n + e % n]);
      t.y[e] = static_cast<T>(sum / count<A, positions>(mask));
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.y.size(), all = L.x.size(), positions = L.x2.size();
    if (t.dx) {
      ctx.each(L.rows * all, [&](long e) {
        T const* const mask = t.x2 + e / all * positions;
        A const dy = static_cast<A>(t.dy[e / all * n + e % n]);
        t.dx[e] = static_cast<T>(counts(mask[e % all / n]) ? dy / count<A, positions>(mask) : A{0});
      });
    }
    clear_mask_gradient<L>(ctx, t);
  }
};

}  // namespace cleave::op
