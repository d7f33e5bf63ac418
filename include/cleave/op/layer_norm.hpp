// op/layer_norm.hpp - normalises each sample to mean 0 and variance 1, then y = scale * x + shift: "bF,F->bF".
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// Over all features of a sample. Source: Ba, Kiros, Hinton, "Layer normalization", 2016, section 3; epsilon 1e-5.
struct LayerNorm : Base {
  static constexpr auto name = "layer_norm";
  static constexpr auto equation = "bFGH,FGH->bFGH";
  static constexpr int weights = 2;
  static constexpr bool reads_x = true;
  static constexpr double epsilon = 1e-5;
  static constexpr int parts_of_sample = 1;
  template <Local> static constexpr long features_of_weight = 1;
  static constexpr Shape output(Shape x) { return x; }
  static constexpr Weight weight(int which, Shape x) { return {x, which == 0 ? Start::Ones : Start::Zeros, 1, 1}; }
  static constexpr long aux(Shape, Shape) { return 2; }  // mean, 1 / deviation

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(L.rows, [&](long b) {
      T const* const x = t.x + b * n;
      A sum = 0, squares = 0;
      for (long i = 0; i < n; ++i) sum += static_cast<A>(x[i]);
      A const mean = sum / A{n};
      for (long i = 0; i < n; ++i) squares += (static_cast<A>(x[i]) - mean) * (static_cast<A>(x[i]) - mean);
      A const inverse = A{1} / std::sqrt(squares / A{n} + static_cast<A>(epsilon));
      t.aux[2 * b] = mean;
      t.aux[2 * b + 1] = inverse;
      for (long i = 0; i < n; ++i) {
        A const unit = (static_cast<A>(x[i]) - mean) * inverse;
        t.y[b * n + i] = static_cast<T>(unit * static_cast<A>(t.w0[i]) + static_cast<A>(t.w1[i]));
      }
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(L.rows, [&](long b) {
      A const mean = t.aux[2 * b], inverse = t.aux[2 * b + 1];
      A sum = 0, along = 0;
      for (long i = 0; i < n; ++i) {
        A const g = static_cast<A>(t.dy[b * n + i]) * static_cast<A>(t.w0[i]);
        sum += g;
        along += g * (static_cast<A>(t.x[b * n + i]) - mean) * inverse;
      }
      for (long i = 0; i < n; ++i) {
        A const g = static_cast<A>(t.dy[b * n + i]) * static_cast<A>(t.w0[i]);
        A const unit = (static_cast<A>(t.x[b * n + i]) - mean) * inverse;
        t.dx[b * n + i] = static_cast<T>(inverse * (g - sum / A{n} - unit * along / A{n}));
      }
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(n, [&](long i) {
      A scale = 0, shift = 0;
      for (long b = 0; b < L.rows; ++b) {
        A const dy = static_cast<A>(t.dy[b * n + i]);
        scale += dy * (static_cast<A>(t.x[b * n + i]) - t.aux[2 * b]) * t.aux[2 * b + 1];
        shift += dy;
      }
      t.dw0[i] = scale;
      t.dw1[i] = shift;
    });
  }
};

}  // namespace cleave::op
