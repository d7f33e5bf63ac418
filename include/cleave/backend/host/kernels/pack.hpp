// backend/host/kernels/pack.hpp - the operands of a matrix product, and how a panel of one is packed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "simd.hpp"

namespace cleave::backend::host {

/// An operand of C = A B provides panels: some rows of A or columns of B ("lines"), some steps of k, packed as (k,
/// line). Any class with `pack` will do; these two are matrices in memory, to which `f` is applied as they are packed,
/// and which may also be read in place. Here line i, step k is at p[i * stride + k]: A row-major, or B transposed. The
/// stride is no template argument: products of all sizes share one copy of what packs.
template <class T, class F = tensor::Factor<T>> struct Rows {
  using value = T;
  static constexpr bool in_place = true, along_k = true;
  T const* p;
  long stride;
  [[no_unique_address]] F f = {};

  template <class S, class E, int Width> void pack(E* to, long first, int count, long k, long depth) const {
    S::pack_rows(to, Width, p + first * stride + k, stride, count, depth, f);
  }
  T const* at(long i, long k) const { return p + i * stride + k; }
  long line() const { return stride; }
  long step() const { return 1; }
};

/// Line i, step k is at p[k * stride + i]: A transposed, or B row-major.
template <class T, class F = tensor::Factor<T>> struct Columns {
  using value = T;
  static constexpr bool in_place = true, along_k = false;
  T const* p;
  long stride;
  [[no_unique_address]] F f = {};

  template <class S, class E, int Width> void pack(E* to, long first, int count, long k, long depth) const {
    S::template pack_columns<E, Width>(to, p + k * stride + first, stride, count, depth, f);
  }
  T const* at(long i, long k) const { return p + k * stride + i; }
  long line() const { return 1; }
  long step() const { return stride; }
};

template <long Stride, class T, class F> Rows<T, F> rows(T const* p, F f) { return {p, Stride, f}; }
template <long Stride, class T, class F> Columns<T, F> columns(T const* p, F f) { return {p, Stride, f}; }

/// As it is stored, not rounded as fp8 and tf32 are in a layer's product: for operations that multiply what they have.
template <class T> auto const* as_stored(T const* p) {
  using Stored = std::conditional_t<std::is_same_v<T, fp8>, bf16, std::conditional_t<std::is_same_v<T, tf32>, f32, T>>;
  return reinterpret_cast<Stored const*>(p);
}
template <long Stride, class T> auto stored_rows(T const* p) {
  return Rows<std::remove_cvref_t<decltype(*as_stored(p))>>{as_stored(p), Stride};
}
template <long Stride, class T> auto stored_columns(T const* p) {
  return Columns<std::remove_cvref_t<decltype(*as_stored(p))>>{as_stored(p), Stride};
}

/// Whether the register kernel can read it in place.
template <class E, class Operand> constexpr bool readable() {
  if constexpr (requires { Operand::in_place; }) return Operand::in_place && std::is_same_v<typename Operand::value, E>;
  return false;
}

/// Whether the steps of a line are neighbours in memory.
template <class Operand> constexpr bool lies_along_k() {
  if constexpr (requires { Operand::along_k; }) return Operand::along_k;
  return false;
}

/// Whether it can be B in place: its lines are neighbours.
template <class E, class Operand> constexpr bool readable_across() {
  return readable<E, Operand>() && !lies_along_k<Operand>();
}

}  // namespace cleave::backend::host
