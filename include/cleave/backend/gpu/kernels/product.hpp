// backend/gpu/kernels/product.hpp - the matrix product on a device: three contractions, the first with bias and map as epilogue.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/product.hpp"
#include "contract.hpp"
#include "kernel.hpp"

namespace cleave::backend::gpu {

/// y (b, o) = map(x (b, i) W (i, o) + bias).
template <op::Local L, bool WithBias, class Map, class T_, class Tail = NoTail> struct ProductForward {
  using T = T_;
  using A = tensor::accumulate_t<T>;
  using Args = Tailed<T, Tail>;
  static constexpr Extent grows = Extent::M;
  static constexpr int all_slices = L.batch / L.rows, m = L.rows, n = L.w0[1], k = L.w0[0], groups = 1;
  static constexpr tensor::Role a_role = tensor::Role::Value, b_role = tensor::Role::Value;
  static constexpr long a_count = long{m} * k, b_count = long{k} * n;
  CLEAVE_HD static T const* a_from(Args const& t) { return t.x; }
  CLEAVE_HD static T const* b_from(Args const& t) { return t.w0; }
  static constexpr bool a_along_k = true, b_along_n = true;
  static constexpr int a_width = width_for<T>(k), b_width = width_for<T>(n);
  CLEAVE_HD static T const* a_at(Args const& t, int, int i, int q) { return t.x + long{i} * k + q; }
  CLEAVE_HD static T const* b_at(Args const& t, int, int q, int j) { return t.w0 + long{q} * n + j; }
  CLEAVE_HD static T a(Args const& t, int g, int i, int q) { return *a_at(t, g, i, q); }
  CLEAVE_HD static T b(Args const& t, int g, int q, int j) { return *b_at(t, g, q, j); }
  CLEAVE_HD static T ended(Args const& t, int, int j, A v) {
    if constexpr (WithBias) v += static_cast<A>(t.bias[j]);
    if constexpr (!std::is_void_v<Map>) v = Map::forward(v);
    return static_cast<T>(v);
  }
  CLEAVE_HD static T* place(Args const& t, int i, int j) { return t.y + long{i} * n + j; }
  CLEAVE_HD static void store(Args const& t, int, int i, int j, A v) {
    *place(t, i, j) = ended(t, i, j, v);
    t.tail(long{i} * n + j);
  }
  using Behind = Tail;
  static constexpr End end = end_of<WithBias, Map>();
  static constexpr int biases = WithBias ? n : 0;
  static constexpr Product task(int slices, bool adds) { return product_of<ProductForward>(slices, adds); }
  static Places places(Args const& t) { return {t.x, t.w0, t.bias, t.y}; }
};

/// dx (b, i) = dy (b, o) W^T.
template <op::Local L, class T_, class Tail = NoTail> struct ProductInput {
  using T = T_;
  using A = tensor::accumulate_t<T>;
  using Args = Tailed<T, Tail>;
  static constexpr Extent grows = Extent::M;
  static constexpr int all_slices = L.batch / L.rows, m = L.rows, n = L.w0[0], k = L.w0[1], groups = 1;
  static constexpr tensor::Role a_role = tensor::Role::Gradient, b_role = tensor::Role::Value;
  static constexpr long a_count = long{m} * k, b_count = long{k} * n;
  CLEAVE_HD static T const* a_from(Args const& t) { return t.dy; }
  CLEAVE_HD static T const* b_from(Args const& t) { return t.w0; }
  static constexpr bool a_along_k = true, b_along_n = false;
  static constexpr int a_width = width_for<T>(k), b_width = width_for<T>(k);
  CLEAVE_HD static T const* a_at(Args const& t, int, int i, int q) { return t.dy + long{i} * k + q; }
  CLEAVE_HD static T const* b_at(Args const& t, int, int q, int j) { return t.w0 + long{j} * k + q; }
  CLEAVE_HD static T a(Args const& t, int g, int i, int q) { return *a_at(t, g, i, q); }
  CLEAVE_HD static T b(Args const& t, int g, int q, int j) { return *b_at(t, g, q, j); }
  CLEAVE_HD static T ended(Args const&, int, int, A v) { return static_cast<T>(v); }
  CLEAVE_HD static T* place(Args const& t, int i, int j) { return t.dx + long{i} * n + j; }
  CLEAVE_HD static void store(Args const& t, int, int i, int j, A v) {
    *place(t, i, j) = ended(t, i, j, v);
    t.tail(long{i} * n + j);
  }
  using Behind = Tail;
  static constexpr End end = End::None;
  static constexpr int biases = 0;
  static constexpr Product task(int slices, bool adds) { return product_of<ProductInput>(slices, adds); }
  static Places places(Args const& t) { return {t.dy, t.w0, nullptr, t.dx}; }
};

/// dW (i, o) = x^T dy, over each slice.
template <op::Local L, class T_> struct ProductWeight {
  using T = T_;
  using A = tensor::accumulate_t<T>;
  using Args = Summing<T>;
  static constexpr Extent grows = Extent::K;
  static constexpr int all_slices = L.batch / L.rows, m = L.w0[0], n = L.w0[1], k = L.rows, groups = 1;
  static constexpr tensor::Role a_role = tensor::Role::Value, b_role = tensor::Role::Gradient;
  static constexpr long a_count = long{k} * m, b_count = long{k} * n;
  CLEAVE_HD static T const* a_from(Args const& t) { return t.x; }
  CLEAVE_HD static T const* b_from(Args const& t) { return t.dy; }
  static constexpr bool a_along_k = false, b_along_n = true;
  static constexpr int a_width = width_for<T>(m), b_width = width_for<T>(n);
  CLEAVE_HD static T const* a_at(Args const& t, int, int i, int q) { return t.x + long{q} * m + i; }
  CLEAVE_HD static T const* b_at(Args const& t, int, int q, int j) { return t.dy + long{q} * n + j; }
  CLEAVE_HD static T a(Args const& t, int g, int i, int q) { return *a_at(t, g, i, q); }
  CLEAVE_HD static T b(Args const& t, int g, int q, int j) { return *b_at(t, g, q, j); }
  CLEAVE_HD static Branches<A> const& to(Args const& t) { return t.to; }
  CLEAVE_HD static long at(int, int i, int j) { return long{i} * n + j; }
  using Behind = NoTail;
  static constexpr End end = End::None;
  static constexpr int biases = 0;
  static constexpr Product task(int slices, bool adds) { return product_of<ProductWeight>(slices, adds); }
  static Places places(Args const& t) { return {t.x, t.dy, nullptr, t.to.dw0.at(0)}; }
};

template <int Out, op::Start How> struct Kernel<op::Product<Out, How>> : TakesTails<Kernel<op::Product<Out, How>>> {
  static constexpr bool links = true;
  template <class Tail, op::Local L, bool WithBias, class Map, class T>
  using Forward = ProductForward<L, WithBias, Map, T, Tail>;
  template <class Tail, op::Local L, class T> using Input = ProductInput<L, T, Tail>;

  template <class Tail, op::Local L, bool WithBias, class Map, class T, class Q>
  static void forward_with(Q q, op::Operands<T> const& t) {
    contract<Forward<Tail, L, WithBias, Map, T>>(q, t);
  }
  template <class Tail, op::Local L, class T, class Q> static void backward_input_with(Q q, op::Operands<T> const& t) {
    contract<Input<Tail, L, T>>(q, t);
  }
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    contract<ProductWeight<L, T>>(q, t);
  }
};

}  // namespace cleave::backend::gpu
