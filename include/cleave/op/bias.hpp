// op/bias.hpp - y = x + w along the first letter, "bo*,o->bo*": not linear, so never on a partial sum.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

struct Bias : Base {
  static constexpr auto name = "bias";
  static constexpr auto equation = "bo*,o->bo*";
  static constexpr int weights = 1;
  static constexpr std::string_view weight_names[] = {"bias"};
  static constexpr bool elementwise = true, keeps_zeros = true;
  static constexpr Shape output(Shape x) { return x; }
  static constexpr Weight weight(int, Shape x) { return {Shape(x[0]), Start::Zeros, 1, 1}; }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long below = L.y.stride(0), size = L.y.size();
    ctx.each(L.rows * size,
             [&](long e) { t.y[e] = static_cast<T>(static_cast<A>(t.x[e]) + static_cast<A>(t.w0[e % size / below])); });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.dx[e] = t.dy[e]; });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long below = L.y.stride(0), size = L.y.size();
    ctx.each(L.w0[0], [&](long o) {
      A sum = 0;
      for (long b = 0; b < L.rows; ++b) {
        for (long i = 0; i < below; ++i) sum += static_cast<A>(t.dy[b * size + o * below + i]);
      }
      t.dw0[o] = sum;
    });
  }
};

}  // namespace cleave::op
