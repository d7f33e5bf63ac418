// op/join.hpp - joins two tensors: their sum (residuals), their product (gates), or their concatenation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

struct Add : Base {
  static constexpr auto name = "add";
  static constexpr auto equation = "b*->b*";
  static constexpr int inputs = 2;
  static constexpr bool linear = true, elementwise = true, pointwise = true;
  static constexpr Shape output(Shape x) { return x; }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.y.size(),
             [&](long e) { t.y[e] = static_cast<T>(static_cast<A>(t.x[e]) + static_cast<A>(t.x2[e])); });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) {
      if (t.dx) t.dx[e] = t.dy[e];
      if (t.dx2) t.dx2[e] = t.dy[e];
    });
  }
};

template <> inline constexpr bool of_any_extents<Add> = true;

/// y = x * x2, element by element. x2 has the shape of x, or one factor for each index of x's leading extents: (c) or
/// (c, 1, 1) for (c, h, w).
struct Multiply : Base {
  static constexpr auto name = "multiply";
  static constexpr auto equation = "bc*->bc*";
  static constexpr int inputs = 2;
  static constexpr bool reads_x = true, keeps_zeros = true;
  static constexpr Shape output(Shape x) { return x; }
  /// Whether these shapes can be joined.
  static constexpr bool joins(Shape x, Shape x2) {
    int same = 0;
    while (same < x.dims && same < x2.dims && x[same] == x2[same]) ++same;
    return same > 0 && x2.stride(same - 1) == 1;
  }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long below = L.x.size() / L.x2.size();
    ctx.each(L.rows * L.y.size(),
             [&](long e) { t.y[e] = static_cast<T>(static_cast<A>(t.x[e]) * static_cast<A>(t.x2[e / below])); });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long below = L.x.size() / L.x2.size();
    if (t.dx) {
      ctx.each(L.rows * L.x.size(),
               [&](long e) { t.dx[e] = static_cast<T>(static_cast<A>(t.dy[e]) * static_cast<A>(t.x2[e / below])); });
    }
    if (t.dx2) {
      ctx.each(L.rows * L.x2.size(), [&](long r) {
        A sum = 0;
        for (long e = r * below; e < (r + 1) * below; ++e) sum += static_cast<A>(t.dy[e]) * static_cast<A>(t.x[e]);
        t.dx2[r] = static_cast<T>(sum);
      });
    }
  }
};

/// Of (c, h, w) the channels, of (f) the features, and of (t, f) the features of each position.
struct Concatenate : Base {
  static constexpr auto name = "concatenate";
  static constexpr auto equation = "bCHW->bCHW";
  static constexpr int inputs = 2;
  static constexpr bool linear = true;
  static constexpr Shape output(Shape x, Shape x2) {
    int const dim = x.dims == 2 ? 1 : 0;
    return x.with(dim, x[dim] + x2[dim]);
  }
  /// Whether these shapes can be joined.
  static constexpr bool concatenates(Shape x, Shape x2) {
    if (x.dims == 2 || x2.dims == 2) return x.dims == x2.dims && x[0] == x2[0];
    return x.stride(0) == x2.stride(0);
  }
  /// Rows of so many numbers of each are joined.
  CLEAVE_HD static constexpr long joined_rows(Local const& l) { return l.rows * (l.x.dims == 2 ? l.x[0] : 1); }
  CLEAVE_HD static constexpr long numbers_of(Shape x) { return x.dims == 2 ? x[1] : x.size(); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    constexpr long n = numbers_of(L.x), n2 = numbers_of(L.x2), all = joined_rows(L) * (n + n2);
    ctx.each(all, [&](long e) {
      long const b = e / (n + n2), i = e % (n + n2);
      t.y[e] = i < n ? t.x[b * n + i] : t.x2[b * n2 + i - n];
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    constexpr long n = numbers_of(L.x), n2 = numbers_of(L.x2), all = joined_rows(L) * (n + n2);
    ctx.each(all, [&](long e) {
      long const b = e / (n + n2), i = e % (n + n2);
      if (i < n && t.dx) t.dx[b * n + i] = t.dy[e];
      if (i >= n && t.dx2) t.dx2[b * n2 + i - n] = t.dy[e];
    });
  }
};

}  // namespace cleave::op
