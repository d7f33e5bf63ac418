// backend/host/communication/sum.hpp - sums of tensors element by element: one to another, and several on a stack.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>

#include "../../../schedule/slices.hpp"
#include "../../../schedule/transfer.hpp"
#include "../../../tensor/each.hpp"
#include "../../../tensor/number.hpp"

namespace cleave::backend::host {

template <class T, class A> A rounded_to(A value) { return static_cast<A>(static_cast<T>(value)); }

/// to += from, rounded if requested.
template <class T, class A, class B> void add_range(A* to, B const* from, long n, bool rounded) {
  if (rounded) {
    tensor::each(n, [&](long i) { to[i] = rounded_to<T>(to[i] + static_cast<A>(from[i])); });
  } else {
    tensor::each(n, [&](long i) { to[i] += static_cast<A>(from[i]); });
  }
}

/// Sums n elements on a stack, as `merges` of the sources say. line(k, visit) calls visit(elements of source k);
/// out(first, count, values) is called piece by piece. T: the format to which sums are rounded.
template <class T, class A, class Line, class Out>
void sum_on_stack(std::span<schedule::Source const> from, long n, bool rounded, Line line, Out out) {
  constexpr long piece = 512;
  alignas(64) A stack[schedule::most_branches / 2][piece];
  for (long first = 0; first < n; first += piece) {
    long const count = n - first < piece ? n - first : piece;
    int depth = 0;
    for (std::size_t k = 0; k < from.size(); ++k) {
      int merges = from[k].merges;
      line(k, [&](auto const* x) {
        x += first;
        if (merges > 0) {
          --merges;
          return add_range<T>(stack[depth - 1], x, count, rounded);
        }
        A* const to = stack[depth++];
        tensor::each(count, [&](long i) { to[i] = static_cast<A>(x[i]); });
      });
      for (; merges > 0; --merges, --depth) add_range<T>(stack[depth - 2], stack[depth - 1], count, rounded);
    }
    out(first, count, stack[0]);
  }
}

}  // namespace cleave::backend::host
