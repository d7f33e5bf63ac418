// backend/host/kernels/finish.hpp - the epilogue of a tile: bias, map and conversion, as it is stored to y.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

namespace cleave::backend::host {

/// y = map(sum + bias), from the tile into y. Along = 1: one bias per column of C, 0: per row.
template <class E, class T, int Along, bool WithBias, class Map> struct Finish {
  static constexpr bool in_place = std::is_same_v<E, T>, ends = !in_place || WithBias || !std::is_void_v<Map>;
  T* y;
  long stride;  // of y
  T const* bias = nullptr;

  T* at(long i, long j) const { return y + i * stride + j; }
  template <class S> void done(E const* sum, long row, long i, long j, int rows, int columns) const {
    S::template finish<E, T, Along, WithBias, Map>(at(i, j), stride, sum, row,
                                                   bias + (!WithBias    ? 0
                                                           : Along == 1 ? j
                                                                        : i),
                                                   rows, columns);
  }
};

}  // namespace cleave::backend::host
