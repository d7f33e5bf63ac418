// op/weighted_loss.hpp - a loss in which each sample has a weight: that of its class, or its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// As Loss, which has neither weights nor a state, with the loss of each row b and its gradient times Weights::of(t,
/// b). The loss of a batch is still the mean over its samples.
template <class Loss, class Weights> struct LossTimesWeights : Loss {
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr Local one = row_of(L);
    A total = 0;
    for (long b = 0; b < L.rows; ++b) {
      Operands<T> at = slice_of<one>(t, b, kept<L>);
      A loss = 0;
      at.loss = &loss;
      Loss::template forward<one>(ctx, at);
      total += loss * Weights::of(at, 0);
    }
    ctx.each(1, [&](long) { *t.loss = total; });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    constexpr Local one = row_of(L);
    for (long b = 0; b < L.rows; ++b) {
      Operands<T> at = slice_of<one>(t, b, kept<L>);
      at.scale *= Weights::of(at, 0);
      Loss::template backward_input<one>(ctx, at);
    }
  }

 private:
  template <Local L> static constexpr long kept = Loss::aux(L.x, L.y);  // of a sample
  CLEAVE_HD static constexpr Local row_of(Local l) {
    l.rows = 1;
    return l;
  }
};

/// The weight of a sample is that of its class, in per cent.
template <int... Percent> struct WeightsOfClasses {
  template <class T> CLEAVE_HD static tensor::accumulate_t<T> of(Operands<T> const& t, long b) {
    using A = tensor::accumulate_t<T>;
    A out = 0;
    int c = 0;
    ((out = c++ == t.labels[b] ? A{Percent} / A{100} : out), ...);
    return out;
  }
};
/// Of a loss that compares with classes.
template <class Loss, int... Percent> struct WeightedLoss : LossTimesWeights<Loss, WeightsOfClasses<Percent...>> {
  static constexpr auto name = "weighted_cross_entropy";
  static constexpr int classes = sizeof...(Percent);
};

/// The weight of a sample is the feed's.
struct WeightsOfSamples {
  template <class T> CLEAVE_HD static tensor::accumulate_t<T> of(Operands<T> const& t, long b) {
    using A = tensor::accumulate_t<T>;
    return t.sample_weights ? static_cast<A>(t.sample_weights[b]) : A{1};
  }
};
template <class Loss> struct SampleWeightedLoss : LossTimesWeights<Loss, WeightsOfSamples> {
  using unweighted = Loss;
  static constexpr bool weighs_samples = true;
};

}  // namespace cleave::op
