// backend/host/kernels/product.hpp - the matrix product on the host: three contractions, the last with the update fused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/product.hpp"
#include "factor.hpp"
#include "finish.hpp"
#include "gemm.hpp"
#include "gemm_blocks.hpp"
#include "gemm_sum.hpp"
#include "kernel.hpp"
#include "update.hpp"

#include "library.hpp"

namespace cleave::backend::host {

/// Passes each row of a finished tile to `step(offset, count, values)`.
template <class E, class Step> struct Update {
  static constexpr bool in_place = false, ends = true;
  Step* step;
  long stride;

  template <class S> void done(E const* sum, long row, long i, long j, int rows, int columns) const {
    for (int r = 0; r < rows; ++r) (*step)((i + r) * stride + j, columns, sum + r * row);
  }
};

/// One row by a few columns that do not fill vectors: packing them would cost more than the product. Not for outputs,
/// whose bits are those of a sample among others; compilers fuse other products and sums here than in tiles.
template <op::Local L> inline constexpr bool is_sliver = L.rows == 1 && L.w0[1] <= 32 && L.w0[1] % 16 != 0;

/// Are several slices one product, of all their rows? Not where an element's bits could depend on that.
template <op::Local L, class T>
inline constexpr bool folds = L.batch > L.rows&& L.rows > 1 && !by_library<T> && !tensor::scaled<T>;
template <op::Local L, class T> inline constexpr long most_folded = folds<L, T> ? L.batch / L.rows : 1;

/// x (b, i), W (i, o), y (b, o).
template <int Out, op::Start How> struct Kernel<op::Product<Out, How>> {
  static constexpr bool takes_slices = true;
  template <op::Local L, class T>
  static constexpr bool sums_slices = folds<L, T>&& sums_in_tiles<tensor::accumulate_t<T>, L.rows>;

  template <op::Local L, bool WithBias, class Map, class T> static void forward(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    constexpr long in = L.w0[0], out = L.w0[1];
    if constexpr (!folds<L, T> && !L.is_one_slice()) {
      if (t.slices > 1) return each_slice<L>(t, [&](op::Operands<T> const& one) { forward<L, WithBias, Map>(c, one); });
    }
    if constexpr (L.in_blocks == 0 && by_library<T>) {
      library_product(false, false, L.rows, out, in, t.x, in, t.w0, out, t.y);
      tensor::each(L.rows * out, [&](long e) {
        E v = t.y[e];
        if constexpr (WithBias) v += t.bias[e % out];
        if constexpr (!std::is_void_v<Map>) v = Map::forward(v);
        t.y[e] = v;
      });
    } else {
      gemm_in_blocks<E, L.rows, out, in, L.in_blocks, most_folded<L, T>>(
          c.workspace, rows<in>(t.x, factor_x<L>(t)), columns<out>(t.w0, factor_w<L>(t)),
          Finish<E, T, 1, WithBias, Map>{t.y, out, t.bias}, t.slices);
    }
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    constexpr long in = L.w0[0], out = L.w0[1];
    if constexpr (!folds<L, T> && !L.is_one_slice()) {
      if (t.slices > 1) return each_slice<L>(t, [&](op::Operands<T> const& one) { backward_input<L>(c, one); });
    }
    if constexpr (L.out_blocks == 0 && by_library<T>) {
      library_product(false, true, L.rows, in, out, t.dy, out, t.w0, out, t.dx);
    } else if constexpr (L.out_blocks == 0 && is_sliver<L>) {
      auto const fdy = factor_dy<L>(t);
      auto const fw = factor_w<L>(t);
      for (long i = 0; i < in; ++i) {
        E sum = 0;
        for (long o = 0; o < out; ++o) sum += fdy(t.dy[o]) * fw(t.w0[i * out + o]);
        t.dx[i] = static_cast<T>(sum);
      }
    } else {
      auto const lines = [](auto* p, auto f) {
        if constexpr (L.out_blocks > 0 && L.out_runs > 1) {
          return rows_in_runs<out, L.out_runs, L.out_blocks>(p, f);
        } else {
          return rows<out>(p, f);
        }
      };
      gemm_in_blocks<E, L.rows, in, out, L.out_blocks, most_folded<L, T>>(
          c.workspace, lines(t.dy, factor_dy<L>(t)), lines(t.w0, factor_w<L>(t)),
          Finish<E, T, 1, false, void>{t.dx, in}, t.slices);
    }
  }
  template <op::Local L, class T> static void backward_weight(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    constexpr long in = L.w0[0], out = L.w0[1];
    if constexpr (by_library<T>) {
      library_product(true, false, in, out, L.rows, t.x, in, t.dy, out, t.dw0);
    } else {
      gemm<E, in, out, L.rows>(c.workspace, columns<in>(t.x, factor_x<L>(t)), columns<out>(t.dy, factor_dy<L>(t)),
                               Store<E>{t.dw0, out});
    }
  }

  /// The gradients of several slices, each joining the branches as it is made, a tile of W at a time.
  template <op::Local L, class T>
  requires(sums_slices<L, T>) static void sum(Context c, op::Operands<T> const& t,
                                              Branches<tensor::accumulate_t<T>> const& to) {
    using E = tensor::accumulate_t<T>;
    constexpr long in = L.w0[0], out = L.w0[1];
    gemm_sum<E, in, out, L.rows, T>(c.workspace, columns<in>(t.x, factor_x<L>(t)), columns<out>(t.dy, factor_dy<L>(t)),
                                    to, t.slices);
  }

  /// Instead of backward_weight: dW is never stored. step(offset, count, gradient) is called once for every stretch of
  /// W, in a fixed order, with the gradient over this slice; it may overwrite W there. A step that takes products is
  /// called once with an OuterProduct, where the slice is one sample.
  template <op::Local L, class T, class Step>
  requires(!by_library<T>) static void update_weight(Context c, op::Operands<T> const& t, Step step) {
    using E = tensor::accumulate_t<T>;
    constexpr long in = L.w0[0], out = L.w0[1];
    constexpr bool is_read_as_stored = std::is_same_v<T, E> && out % 16 == 0;
    if constexpr (L.rows == 1 && is_read_as_stored && requires { requires Step::takes_products; }) {
      step(0, in * out, OuterProduct<E, out>{t.x, t.dy});
    } else if constexpr (L.rows == 1) {  // the outer product of two vectors: a few rows at a time
      constexpr long together = out >= 256 ? 1 : in < 256 / out ? in : 256 / out;
      alignas(64) E g[together * out];
      auto const fx = factor_x<L>(t);
      auto const fdy = factor_dy<L>(t);
      for (long i = 0; i < in; i += together) {
        long const rows = in - i < together ? in - i : together;
        for (long r = 0; r < rows; ++r) {
          E const x = fx(t.x[i + r]);
          tensor::each(out, [&](long o) { g[r * out + o] = x * fdy(t.dy[o]); });
        }
        if (rows == together) {
          step(i * out, static_cast<int>(together * out), g);
        } else {
          step(i * out, static_cast<int>(rows * out), g);
        }
      }
    } else {
      gemm<E, in, out, L.rows>(c.workspace, columns<in>(t.x, factor_x<L>(t)), columns<out>(t.dy, factor_dy<L>(t)),
                               Update<E, Step>{&step, out});
    }
  }
};

}  // namespace cleave::backend::host
