// backend/host/kernels/library.hpp - which library computes matrix products in this program, and which convolutions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../../../tensor/number.hpp"

#if defined(CLEAVE_ONEDNN) && defined(CLEAVE_BLAS)
#error "link cleave::blas or cleave::onednn, not both: one of them multiplies matrices"
#elif defined(CLEAVE_ONEDNN)
#include "onednn.hpp"
#elif defined(CLEAVE_BLAS)
#include "blas.hpp"
#endif

namespace cleave::backend::host {

#if defined(CLEAVE_ONEDNN)
template <class T> inline constexpr bool by_library = std::is_same_v<T, float>;
template <class T> inline constexpr bool convolves_by_library = by_library<T>;
inline constexpr char products_by[] = "oneDNN";
#elif defined(CLEAVE_BLAS)
template <class T> inline constexpr bool by_library = std::is_same_v<T, tensor::accumulate_t<T> >;
template <class> inline constexpr bool convolves_by_library = false;
inline constexpr char products_by[] = "BLAS";
#else
template <class> inline constexpr bool by_library = false;
template <class> inline constexpr bool convolves_by_library = false;
inline constexpr char products_by[] = "own kernels";
inline void library_product(...);  // never called
#endif
#if !defined(CLEAVE_ONEDNN)
struct Convolution {
  int rows, groups, in, h, w, out, out_h, out_w, kernel, stride, pad, dilation;
};
struct LibraryConvolution {  // never made
  enum class Pass : unsigned char { Forward, Input, Weight };
  LibraryConvolution(Convolution const&, Pass);
  void operator()(float const*, float const*, float*);
};
#endif

}  // namespace cleave::backend::host
