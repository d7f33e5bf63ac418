// op/group_norm.hpp - normalises groups of channels of each sample, then y = scale * x + shift per channel: "bFGH,F->bFGH".
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// Over the channels of a group and their positions, to mean 0 and variance 1; channels stay whole. Source: Wu, He,
/// "Group normalization", 2018, section 3.1; epsilon 1e-5.
template <int Groups> struct NormaliseGroups : Base {
  static constexpr auto name = "group_norm";
  static constexpr auto equation = "bFGH,F->bFGH";
  static constexpr int weights = 2, groups = Groups, parts_of_sample = Groups;
  static constexpr bool reads_x = true;
  static constexpr double epsilon = 1e-5;
  static constexpr Shape output(Shape x) { return x; }
  static constexpr Weight weight(int which, Shape x) {
    return {Shape(x[0]), which == 0 ? Start::Ones : Start::Zeros, 1, 1};
  }
  static constexpr long aux(Shape, Shape) { return 2 * Groups; }  // mean, 1 / deviation, of each group
  template <Local L> static constexpr long features_of_weight = L.x.stride(0);
  template <Local L> static constexpr long of_group = L.x.size() / Groups;

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = of_group<L>, below = L.x.stride(0);
    ctx.each(long{L.rows} * Groups, [&](long g) {
      T const* const x = t.x + g * n;
      T* const y = t.y + g * n;
      A sum = 0, squares = 0;
      for (long i = 0; i < n; ++i) sum += static_cast<A>(x[i]);
      A const mean = sum / A{n};
      for (long i = 0; i < n; ++i) squares += (static_cast<A>(x[i]) - mean) * (static_cast<A>(x[i]) - mean);
      A const inverse = A{1} / std::sqrt(squares / A{n} + static_cast<A>(epsilon));
      t.aux[2 * g] = mean;
      t.aux[2 * g + 1] = inverse;
      for (long i = 0; i < n; ++i) {
        long const c = (g % Groups * n + i) / below;
        A const unit = (static_cast<A>(x[i]) - mean) * inverse;
        y[i] = static_cast<T>(unit * static_cast<A>(t.w0[c]) + static_cast<A>(t.w1[c]));
      }
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = of_group<L>, below = L.x.stride(0);
    ctx.each(long{L.rows} * Groups, [&](long g) {
      A const mean = t.aux[2 * g], inverse = t.aux[2 * g + 1];
      auto const scaled = [&](long i) {
        return static_cast<A>(t.dy[g * n + i]) * static_cast<A>(t.w0[(g % Groups * n + i) / below]);
      };
      A sum = 0, along = 0;
      for (long i = 0; i < n; ++i) {
        sum += scaled(i);
        along += scaled(i) * (static_cast<A>(t.x[g * n + i]) - mean) * inverse;
      }
      for (long i = 0; i < n; ++i) {
        A const unit = (static_cast<A>(t.x[g * n + i]) - mean) * inverse;
        t.dx[g * n + i] = static_cast<T>(inverse * (scaled(i) - sum / A{n} - unit * along / A{n}));
      }
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long channels = L.x[0], below = L.x.stride(0);
    ctx.each(channels, [&](long c) {
      A scale = 0, shift = 0;
      for (long b = 0; b < L.rows; ++b) {
        long const g = b * Groups + c / (channels / Groups);
        for (long i = 0; i < below; ++i) {
          long const e = (b * channels + c) * below + i;
          A const dy = static_cast<A>(t.dy[e]);
          scale += dy * (static_cast<A>(t.x[e]) - t.aux[2 * g]) * t.aux[2 * g + 1];
          shift += dy;
        }
      }
      t.dw0[c] = scale;
      t.dw1[c] = shift;
    });
  }
};

}  // namespace cleave::op
