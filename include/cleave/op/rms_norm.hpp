// op/rms_norm.hpp - each sample divided by its root mean square, then times a scale: "bFGH,FGH->bFGH".
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// Over all features of a sample. Source: Zhang, Sennrich, "Root mean square layer normalization", 2019; epsilon 1e-6.
struct RootMeanSquareNorm : Base {
  static constexpr auto name = "rms_norm";
  static constexpr auto equation = "bFGH,FGH->bFGH";
  static constexpr int weights = 1;
  static constexpr bool reads_x = true;
  static constexpr double epsilon = 1e-6;
  static constexpr Shape output(Shape x) { return x; }
  static constexpr Weight weight(int, Shape x) { return {x, Start::Ones, 1, 1}; }
  static constexpr long aux(Shape, Shape) { return 1; }  // 1 / root

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(L.rows, [&](long b) {
      T const* const x = t.x + b * n;
      A squares = 0;
      for (long i = 0; i < n; ++i) squares += static_cast<A>(x[i]) * static_cast<A>(x[i]);
      A const inverse = A{1} / std::sqrt(squares / A{n} + static_cast<A>(epsilon));
      t.aux[b] = inverse;
      for (long i = 0; i < n; ++i)
        t.y[b * n + i] = static_cast<T>(static_cast<A>(x[i]) * inverse * static_cast<A>(t.w0[i]));
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(L.rows, [&](long b) {
      A const inverse = t.aux[b];
      A along = 0;
      for (long i = 0; i < n; ++i)
        along += static_cast<A>(t.dy[b * n + i]) * static_cast<A>(t.w0[i]) * static_cast<A>(t.x[b * n + i]);
      A const back = along / A{n} * inverse * inverse;
      for (long i = 0; i < n; ++i) {
        A const g = static_cast<A>(t.dy[b * n + i]) * static_cast<A>(t.w0[i]);
        t.dx[b * n + i] = static_cast<T>(inverse * (g - static_cast<A>(t.x[b * n + i]) * back));
      }
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(n, [&](long i) {
      A scale = 0;
      for (long b = 0; b < L.rows; ++b)
        scale += static_cast<A>(t.dy[b * n + i]) * static_cast<A>(t.x[b * n + i]) * t.aux[b];
      t.dw0[i] = scale;
    });
  }
};

}  // namespace cleave::op
