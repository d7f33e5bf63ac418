// op/input_part.hpp - a part of a sample that has several inputs: y = x[first, first + size of Input).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// x (b, Whole); y (b, shape of Input).
template <long Whole, long First, class Input> struct InputPart : Base {
  static constexpr auto name = "input";
  static constexpr auto equation = "bI->b*";
  static constexpr bool linear = true;
  static constexpr long whole = Whole;
  static constexpr Shape output(Shape) { return Input::shape; }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    constexpr long n = L.y.size();
    ctx.each(L.rows * n, [&](long e) { t.y[e] = t.x[e / n * Whole + First + e % n]; });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.y.size();
    ctx.each(L.rows * Whole, [&](long e) {
      long const i = e % Whole - First;
      t.dx[e] = i >= 0 && i < n ? t.dy[e / Whole * n + i] : static_cast<T>(A{0});
    });
  }
};

}  // namespace cleave::op
