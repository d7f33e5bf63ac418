// backend/host/kernels/tied.hpp - a product by the rows of a table of tokens on the host, and the gradient of that table.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/tied.hpp"
#include "lookup.hpp"
#include "product.hpp"

namespace cleave::backend::host {

/// x (b, i), W (o, i), y (b, o).
template <int Out> struct Kernel<op::TransposedProduct<Out>> {
  static constexpr bool takes_slices = true;

  template <op::Local L, bool WithBias, class Map, class T> static void forward(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    constexpr long out = L.w0[0], in = L.w0[1];
    if constexpr (!folds<L, T> && !L.is_one_slice()) {
      if (t.slices > 1) return each_slice<L>(t, [&](op::Operands<T> const& one) { forward<L, WithBias, Map>(c, one); });
    }
    if constexpr (L.in_blocks == 0 && by_library<T>) {
      library_product(false, true, L.rows, out, in, t.x, in, t.w0, in, t.y);
      tensor::each(L.rows * out, [&](long e) {
        E v = t.y[e];
        if constexpr (WithBias) v += t.bias[e % out];
        if constexpr (!std::is_void_v<Map>) v = Map::forward(v);
        t.y[e] = v;
      });
    } else {
      gemm_in_blocks<E, L.rows, out, in, L.in_blocks, most_folded<L, T>>(
          c.workspace, rows<in>(t.x, factor_x<L>(t)), rows<in>(t.w0, factor_w<L>(t)),
          Finish<E, T, 1, WithBias, Map>{t.y, out, t.bias}, t.slices);
    }
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    constexpr long out = L.w0[0], in = L.w0[1];
    if constexpr (!folds<L, T> && !L.is_one_slice()) {
      if (t.slices > 1) return each_slice<L>(t, [&](op::Operands<T> const& one) { backward_input<L>(c, one); });
    }
    if constexpr (L.out_blocks == 0 && by_library<T>) {
      library_product(false, false, L.rows, in, out, t.dy, out, t.w0, in, t.dx);
    } else {
      gemm_in_blocks<E, L.rows, in, out, L.out_blocks, most_folded<L, T>>(
          c.workspace, rows<out>(t.dy, factor_dy<L>(t)), columns<in>(t.w0, factor_w<L>(t)),
          Finish<E, T, 1, false, void>{t.dx, in}, t.slices);
    }
  }
  template <op::Local L, class T> static void backward_weight(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    constexpr long out = L.w0[0], in = L.w0[1];
    if constexpr (by_library<T>) {
      library_product(true, false, out, in, L.rows, t.dy, out, t.x, in, t.dw0);
    } else {
      gemm<E, out, in, L.rows>(c.workspace, columns<out>(t.dy, factor_dy<L>(t)), columns<in>(t.x, factor_x<L>(t)),
                               Store<E>{t.dw0, in});
    }
  }
};

template <int Vocabulary, int Features, bool Numbers, bool Split>
struct Kernel<op::TiedLookup<Vocabulary, Features, Numbers, Split>> {
  using Op = op::TiedLookup<Vocabulary, Features, Numbers, Split>;
  template <op::Local L, bool, class, class T> static void forward(Context c, op::Operands<T> const& t) {
    Op::template forward<L>(c, t);
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    Op::template backward_input<L>(c, t);
  }
  template <op::Local L, class T> static void backward_weight(Context c, op::Operands<T> const& t) {
    Kernel<typename Op::Reader>::template backward_weight<Op::of_reader(L)>(c, Op::reader(t));
    add_rows<typename Op::Table, L>(t);
  }
};

}  // namespace cleave::backend::host
