// backend/host/kernels/factor.hpp - rounds the operands of products and convolutions to low-precision formats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/operands.hpp"
#include "../../../tensor/factor.hpp"
#include "simd.hpp"

namespace cleave::backend::host {

/// tensor::Factor::of, vectorised.
template <tensor::Role R, class T> tensor::Factor<T, R> factor([[maybe_unused]] T const* p, [[maybe_unused]] long n) {
  if constexpr (tensor::scaled<T>) {
    std::uint32_t peak = 0;
    with_simd([&]<class S>(S) { peak = S::peak(p, n); });
    return tensor::Factor<T, R>(peak);
  } else {
    return {};
  }
}
/// For one slice.
template <op::Local L, class T> auto factor_x(op::Operands<T> const& t) {
  return factor<tensor::Role::Value>(t.x, L.rows * L.x.size());
}
template <op::Local L, class T> auto factor_dy(op::Operands<T> const& t) {
  return factor<tensor::Role::Gradient>(t.dy, L.rows * L.y.size());
}
template <op::Local L, class T> auto factor_w(op::Operands<T> const& t) {
  return factor<tensor::Role::Value>(t.w0, L.w0.size());
}

}  // namespace cleave::backend::host
