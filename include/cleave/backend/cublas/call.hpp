// backend/cublas/call.hpp - a product as a call of cuBLASLt, column-major, and as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "../gpu/kernels/library.hpp"

namespace cleave::backend::cublas {

constexpr std::size_t algorithm_words = 8;
constexpr int most_algorithms = 8;  // algorithms that are timed for a product

/// D (m, n) = end(op(A) op(B) + beta D), column-major; op transposes where asked, and a bias has an element for each
/// row. So a row-major C = A B is D = C^T = B^T A^T: the operands change places, and no further operand is transposed.
struct Call {
  int m, n, k;
  bool a_turned, b_turned;
  long lda, ldb, ldd;  // elements from column to column
  gpu::Number of, to;
  gpu::End end;
  int a_aligned, b_aligned, d_aligned;  // alignment in bytes, at most 16
  friend constexpr bool operator==(Call const&, Call const&) = default;
};
/// Their addresses, in that order.
struct Operands {
  void const *a, *b, *bias;
  void* d;
  float beta;
};

using gpu::aligned;
using gpu::most_aligned;
inline Call call_for(gpu::Product const& p, gpu::Places const& at) {
  return {p.n, p.m,  p.k,  p.b_turned, p.a_turned,    p.b_turned ? p.k : p.n, p.a_turned ? p.m : p.k,
          p.n, p.of, p.to, p.end,      aligned(at.b), aligned(at.a),          aligned(at.c)};
}
inline Operands operands_for(gpu::Product const& p, gpu::Places const& at) {
  return {at.b, at.a, at.bias, at.c, p.adds ? 1.f : 0.f};
}

/// "256 x 784 * 784 x 128 bf16 +bias+relu": transposed operands have a quote; only unusual properties are shown.
inline std::string text(gpu::Product const& p) {
  auto const by = [](int a, int b) { return std::to_string(a) + " x " + std::to_string(b); };
  std::string s =
      by(p.m, p.k) + (p.a_turned ? "' * " : " * ") + by(p.k, p.n) + (p.b_turned ? "' " : " ") + gpu::text(p.of);
  if (p.to != p.of) s += " to " + gpu::text(p.to);
  return s + gpu::text(p.end, p.behind, p.adds);
}
inline std::string text(gpu::Product const& p, Call const& c) {
  std::string s = text(p);
  if (c.a_aligned < most_aligned || c.b_aligned < most_aligned || c.d_aligned < most_aligned) {
    s += " aligned " + std::to_string(c.b_aligned) + " " + std::to_string(c.a_aligned) + " " +
         std::to_string(c.d_aligned);
  }
  return s;
}

}  // namespace cleave::backend::cublas
