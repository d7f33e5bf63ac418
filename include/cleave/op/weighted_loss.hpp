// op/weighted_loss.hpp - a loss in which each sample counts as much as its class.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// As Loss, which compares with classes and has neither weights nor a state: a sample's loss times the weight of its
/// class, in per cent. The loss of a batch is still the mean over its samples.
template <class Loss, int... Percent> struct WeightedLoss : Loss {
  static constexpr auto name = "weighted_cross_entropy";
  static constexpr int classes = sizeof...(Percent);

  template <class A> CLEAVE_HD static A weight_of(int label) {
    A out = 0;
    int c = 0;
    ((out = c++ == label ? A{Percent} / A{100} : out), ...);
    return out;
  }
  /// The operands of row b alone, whose gradient is weighted.
  template <Local L, class T> CLEAVE_HD static Operands<T> row(Operands<T> const& t, long b) {
    constexpr Local one = row_of(L);
    Operands<T> out = slice_of<one>(t, b, 0);
    out.loss = t.loss;
    out.scale *= weight_of<tensor::accumulate_t<T>>(*out.labels);
    return out;
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr Local one = row_of(L);
    A total = 0;
    for (long b = 0; b < L.rows; ++b) {
      Operands<T> at = row<L>(t, b);
      A loss = 0;
      at.loss = &loss;
      Loss::template forward<one>(ctx, at);
      total += loss * weight_of<A>(*at.labels);
    }
    ctx.each(1, [&](long) { *t.loss = total; });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    constexpr Local one = row_of(L);
    for (long b = 0; b < L.rows; ++b) Loss::template backward_input<one>(ctx, row<L>(t, b));
  }

 private:
  CLEAVE_HD static constexpr Local row_of(Local l) {
    l.rows = 1;
    return l;
  }
};

}  // namespace cleave::op
