// backend/gpu/kernels/tied.hpp - a product by the rows of a table of tokens on a device, and the gradient of that table.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/tied.hpp"
#include "product.hpp"

namespace cleave::backend::gpu {

/// The weight (o, i) of L as one of (i, o), which Product has.
constexpr op::Local with_weight_transposed(op::Local l) {
  l.w0 = Shape(l.w0[1], l.w0[0]);
  return l;
}
/// y (b, o) = map(x (b, i) W (o, i)^T + bias).
template <op::Local L, bool WithBias, class Map, class T, class Tail = NoTail>
struct TransposedForward : ProductForward<with_weight_transposed(L), WithBias, Map, T, Tail> {
  using Base = ProductForward<with_weight_transposed(L), WithBias, Map, T, Tail>;
  using Args = typename Base::Args;
  static constexpr bool b_along_n = false;
  static constexpr int b_width = width_for<T>(Base::k);
  CLEAVE_HD static T const* b_at(Args const& t, int, int q, int j) { return t.w0 + long{j} * Base::k + q; }
  CLEAVE_HD static T b(Args const& t, int g, int q, int j) { return *b_at(t, g, q, j); }
  static constexpr Product task(int slices, bool adds) { return product_of<TransposedForward>(slices, adds); }
};

/// dx (b, i) = dy (b, o) W.
template <op::Local L, class T, class Tail = NoTail>
struct TransposedInput : ProductInput<with_weight_transposed(L), T, Tail> {
  using Base = ProductInput<with_weight_transposed(L), T, Tail>;
  using Args = typename Base::Args;
  static constexpr bool b_along_n = true;
  static constexpr int b_width = width_for<T>(Base::n);
  CLEAVE_HD static T const* b_at(Args const& t, int, int q, int j) { return t.w0 + long{q} * Base::n + j; }
  CLEAVE_HD static T b(Args const& t, int g, int q, int j) { return *b_at(t, g, q, j); }
  static constexpr Product task(int slices, bool adds) { return product_of<TransposedInput>(slices, adds); }
};

/// dW (o, i) = dy^T x, over each slice.
template <op::Local L, class T_> struct TransposedWeight {
  using T = T_;
  using A = tensor::accumulate_t<T>;
  using Args = Summing<T>;
  static constexpr Extent grows = Extent::K;
  static constexpr int all_slices = L.batch / L.rows, m = L.w0[0], n = L.w0[1], k = L.rows, groups = 1;
  static constexpr tensor::Role a_role = tensor::Role::Gradient, b_role = tensor::Role::Value;
  static constexpr long a_count = long{k} * m, b_count = long{k} * n;
  CLEAVE_HD static T const* a_from(Args const& t) { return t.dy; }
  CLEAVE_HD static T const* b_from(Args const& t) { return t.x; }
  static constexpr bool a_along_k = false, b_along_n = true;
  static constexpr int a_width = width_for<T>(m), b_width = width_for<T>(n);
  CLEAVE_HD static T const* a_at(Args const& t, int, int i, int q) { return t.dy + long{q} * m + i; }
  CLEAVE_HD static T const* b_at(Args const& t, int, int q, int j) { return t.x + long{q} * n + j; }
  CLEAVE_HD static T a(Args const& t, int g, int i, int q) { return *a_at(t, g, i, q); }
  CLEAVE_HD static T b(Args const& t, int g, int q, int j) { return *b_at(t, g, q, j); }
  CLEAVE_HD static Branches<A> const& to(Args const& t) { return t.to; }
  CLEAVE_HD static long at(int, int i, int j) { return long{i} * n + j; }
  using Behind = NoTail;
  static constexpr End end = End::None;
  static constexpr int biases = 0;
  static constexpr Product task(int slices, bool adds) { return product_of<TransposedWeight>(slices, adds); }
  static Places places(Args const& t) { return {t.dy, t.x, nullptr, t.to.dw0.at(0)}; }
};

template <int Out> struct Kernel<op::TransposedProduct<Out>> : TakesTails<Kernel<op::TransposedProduct<Out>>> {
  template <class Tail, op::Local L, bool WithBias, class Map, class T, class Q>
  static void forward_with(Q q, op::Operands<T> const& t) {
    contract<TransposedForward<L, WithBias, Map, T, Tail>>(q, t);
  }
  template <class Tail, op::Local L, class T, class Q> static void backward_input_with(Q q, op::Operands<T> const& t) {
    contract<TransposedInput<L, T, Tail>>(q, t);
  }
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    contract<TransposedWeight<L, T>>(q, t);
  }
};

/// Adds dy of each token to the row of its gradient; each thread follows a feature, in the order of the tokens.
template <class Op, op::Local L, class T> struct AddRows {
  using Args = op::Operands<T>;
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& t) {
    c.each(L.w0[1], [&](long f) { Op::template add_rows<L>(t, f); });
  }
};

template <int Vocabulary, int Features, bool Numbers, bool Split>
struct Kernel<op::TiedLookup<Vocabulary, Features, Numbers, Split>>
    : ByDefinition<op::TiedLookup<Vocabulary, Features, Numbers, Split>> {
  using Op = op::TiedLookup<Vocabulary, Features, Numbers, Split>;
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    contract<TransposedWeight<Op::of_reader(L), T>>(q, one_slice(Op::reader(t)));
    q.template launch<AddRows<Op, L, T>>(blocks_each(Features), t);
  }
};

}  // namespace cleave::backend::gpu
