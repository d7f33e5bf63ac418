// op/input_part.hpp - an input of a sample that has several: y = x[first, first + size of Input).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// Of the inputs `All`: x (b, all numbers); y (b, shape of Input).
template <class All, long First, class Input> struct InputPart : Base {
  static constexpr auto name = "input";
  static constexpr auto equation = "bI->b*";
  static constexpr bool linear = true;
  using all_inputs = All;
  static constexpr long first = First, end = First + Input::shape.size();
  static constexpr Shape output(Shape) { return Input::shape; }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    constexpr long n = L.y.size(), all = L.x.size();
    ctx.each(L.rows * n, [&](long e) { t.y[e] = t.x[e / n * all + First + e % n]; });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.y.size(), all = L.x.size();
    ctx.each(L.rows * all, [&](long e) {
      long const i = e % all - First;
      t.dx[e] = i >= 0 && i < n ? t.dy[e / all * n + i] : static_cast<T>(A{0});
    });
  }
};

}  // namespace cleave::op
