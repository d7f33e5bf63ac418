// backend/host/kernels/recurrence.hpp - recurrent cells on the host: a product of all samples at each position, then the units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/recurrence.hpp"
#include "gemm.hpp"
#include "kernel.hpp"
#include "product.hpp"

namespace cleave::backend::host {

template <class Cell, int H, int Run> struct Kernel<op::Recurrence<Cell, H, Run>> {
  using Op = op::Recurrence<Cell, H, Run>;
  static constexpr bool takes_slices = true;
  static constexpr int gates = Op::gates, kept = Op::kept;
  static constexpr long columns_of_w = Op::columns;
  template <op::Local L> static constexpr long positions = L.x[0];

  /// The bits of a sample do not depend on those beside it.
  template <op::Local L, bool, class, class T> static void forward(Context c, op::Operands<T> const& t) {
    if constexpr (L.rows == 1) {
      each_sample<L>(t, [&](op::Operands<T> const& one) { outputs<L, 1>(c, one); });
    } else {
      outputs<L, most_slices<L>>(c, t);
    }
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    if constexpr (L.rows == 1) {
      each_sample<L>(t, [&](op::Operands<T> const& one) { gradients<L, 1>(c, one); });
    } else {
      gradients<L, most_slices<L>>(c, t);
    }
  }
  /// The outputs of the positions before, times the gradients that backward_input has left.
  template <op::Local L, class T> static void backward_weight(Context c, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    tensor::each(H * columns_of_w, [&](long e) { t.dw0[e] = 0; });
    tensor::each(columns_of_w, [&](long o) { t.dw1[o] = 0; });
    for (long b = 0; b < L.rows; ++b) {
      for (long p = 0; p < positions<L>; ++p) {
        A const* const g = t.aux + Op::template place<L>(b, p);
        A* const sum = t.dw1;
        tensor::each(columns_of_w, [&](long o) { sum[o] += g[o]; });
      }
      if constexpr (L.x[0] > 1) {
        A const* const second = t.aux + Op::template place<L>(b, 1);
        gemm<A, H, columns_of_w, positions<L> - 1, true>(c.workspace, stored_columns<H>(t.y + b * positions<L> * H),
                                                         stored_columns<long{kept} * H>(second),
                                                         Store<A>{t.dw0, columns_of_w});
      }
    }
  }

 private:
  template <op::Local L> static constexpr long most_slices = L.batch > L.rows ? L.batch / L.rows : 1;
  template <op::Local L, class T, class F> static void each_sample(op::Operands<T> const& t, F f) {
    for (int i = 0; i < t.slices; ++i) f(op::slice_of<L>(t, i, Op::template aux_of_sample<L>));
  }

  template <op::Local L, long Most, class T> static void outputs(Context c, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    long const samples = long{L.rows} * t.slices;
    for (long p = 0; p < positions<L>; ++p) {
      A* const here = t.aux + Op::template place<L>(0, p);
      if (p > 0) {
        gemm<A, L.rows, columns_of_w, H, false, Most>(c.workspace, stored_rows<positions<L> * H>(t.y + (p - 1) * H),
                                                      stored_columns<columns_of_w>(t.w0),
                                                      Store<A>{here, Op::template aux_of_sample<L>}, t.slices);
      } else {
        for (long b = 0; b < samples; ++b)
          tensor::each(columns_of_w, [&](long o) { here[b * Op::template aux_of_sample<L> + o] = 0; });
      }
      for (long b = 0; b < samples; ++b) units<L>(t, b, p);
    }
  }
  template <op::Local L, long Most, class T> static void gradients(Context c, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    long const samples = long{L.rows} * t.slices;
    A* const room = t.aux + Op::template place<L>(0, positions<L>);
    for (long p = positions<L> - 1; p >= 0; --p) {
      if (p + 1 < positions<L> && Op::goes_back(p + 1)) {
        gemm<A, L.rows, H, columns_of_w, false, Most>(
            c.workspace, stored_rows<Op::template aux_of_sample<L>>(t.aux + Op::template place<L>(0, p + 1)),
            stored_rows<columns_of_w>(t.w0), Store<A>{room, Op::template aux_of_sample<L>}, t.slices);
      } else {
        for (long b = 0; b < samples; ++b)
          tensor::each(H, [&](long k) { room[b * Op::template aux_of_sample<L> + k] = 0; });
      }
      for (long b = 0; b < samples; ++b) units_back<L>(t, b, p);
    }
  }
  template <op::Local L, class T> static void units(op::Operands<T> const& t, long b, long p) {
    using A = tensor::accumulate_t<T>;
    long const at = b * positions<L> + p;
    T const* const x = t.x + at * columns_of_w;
    T* const y = t.y + at * H;
    T const* const bias = t.w1;
    A* const aux = t.aux + Op::template place<L>(b, p);
    bool const first = p == 0;
    A const zero = 0;
    T const none = static_cast<T>(zero);
    tensor::each(H, [&](long k) {
      typename Op::template Unit<A> u;
      for (int g = 0; g < gates; ++g) {
        u.x[g] = static_cast<A>(x[long{g} * H + k]);
        u.h[g] = aux[long{g} * H + k] + static_cast<A>(bias[long{g} * H + k]);
      }
      A const h_before = static_cast<A>(first ? none : y[k - H]);
      A const state_before = first ? zero : aux[k - H];
      y[k] = static_cast<T>(Cell::forward(u.x, u.h, h_before, state_before, u.keep));
      for (int j = 0; j < kept; ++j) aux[long{j} * H + k] = u.keep[j];
    });
  }
  template <op::Local L, class T> static void units_back(op::Operands<T> const& t, long b, long p) {
    using A = tensor::accumulate_t<T>;
    long const at = b * positions<L> + p;
    T const* const dy = t.dy + at * H;
    T const* const y = t.y + at * H;
    T* const to = t.dx + at * columns_of_w;
    A* const aux = t.aux + Op::template place<L>(b, p);
    A const* const room = t.aux + Op::template place<L>(b, positions<L>);
    bool const first = p == 0, last = p + 1 == positions<L> || !Op::goes_back(p + 1);
    A const zero = 0;
    T const none = static_cast<T>(zero);
    tensor::each(H, [&](long k) {
      A const h_before = static_cast<A>(first ? none : y[k - H]);
      A const state_before = first ? zero : aux[k - H];
      A const handed_on = last || kept == gates ? zero : aux[long{kept} * H + columns_of_w + k];
      A dx[gates], keep[kept];
      for (int j = 0; j < kept; ++j) keep[j] = aux[long{j} * H + k];
      Cell::backward(static_cast<A>(dy[k]) + room[k], handed_on, h_before, state_before, keep, dx);
      for (int j = 0; j < kept; ++j) aux[long{j} * H + k] = keep[j];
      for (int g = 0; g < gates; ++g) to[long{g} * H + k] = static_cast<T>(dx[g]);
    });
  }
};

}  // namespace cleave::backend::host
