// optim/optimizer.hpp - what an optimizer is: its state tensors per weight, and the update of one element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "loss_scale.hpp"
#include "parameter_group.hpp"

namespace cleave::optim {

struct OptimizerKind {};

/// a * b + c; on a device a fused multiply-add, rounded once. Optimizers must write every a * b + c with it: the update
/// is compiled in several kernels (for gradients in f32 and in bf16), which must round alike so that any number of
/// ranks gives the same bits.
template <class A> CLEAVE_HD A multiply_add(A a, A b, A c) {
#ifdef __CUDA_ARCH__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// Base of every optimizer. A derived class sets `Moments` (0, 1 or 2 state tensors per weight) and defines `step`.
/// A step multiplies its weight decay by `now.decay`. Hyperparameters are static members; derive again to change one:
///   struct Heavy : Momentum { static constexpr float momentum = 0.99f; };     // its step reads Self::momentum
/// `default_rate` is the learning rate of a plan that says none.
template <class Self, int Moments> struct Optimizer {
  using kind = OptimizerKind;
  using origin = Self;
  static constexpr int moments = Moments;
  static constexpr float default_rate = 0.01f;
};

/// Gradient clipping: `struct Clipped : Adam { static constexpr float clip_norm = 1; };` If the norm over the gradients
/// of all weights exceeds clip_norm, all gradients are multiplied by clip_norm / norm before the update.
template <class Optimizer>
concept Clips = requires {
  Optimizer::clip_norm;
};
/// The factor for gradients whose squares sum to `squares`, at most 1; NaN if `squares` is NaN. The same formula as
/// PyTorch's clip_grad_norm_. Source: Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural
/// networks", 2013.
template <Clips Optimizer, class A> CLEAVE_HD A clip_scale(double squares) {
  double const scale = static_cast<double>(Optimizer::clip_norm) / (std::sqrt(squares) + 1e-6);
  return static_cast<A>(scale >= 1 ? 1.0 : scale);
}

/// Gradients have a factor that is known when the sum of all their squares is.
template <class Optimizer>
concept ScalesGradients = Clips<Optimizer> || ScalesLoss<Optimizer>;

/// The factor of all gradients of a step, from the sum of their squares; 0: the step is skipped. `state` is that of the
/// plan's LossScale; null without one.
template <ScalesGradients Optimizer, class A> CLEAVE_HD A gradient_scale(double squares, [[maybe_unused]] A* state) {
  if constexpr (ScalesLoss<Optimizer>) {
    using Scale = typename Optimizer::loss_scale;
    A const inverse = A{1} / Scale::factor(state);
    bool const finite = squares <= 0x1.fffffffffffffp1023;  // the largest double; false for NaN
    Scale::next(state, finite);
    if (!finite) return 0;
    if constexpr (Clips<Optimizer>) {
      double const by = static_cast<double>(inverse);
      return inverse * clip_scale<Optimizer, A>(squares * by * by);
    } else {
      return inverse;
    }
  } else {
    return clip_scale<Optimizer, A>(squares);
  }
}

/// What the update of every element shares in one step: the learning rate, and the number of steps, counted from 1.
template <class A> struct Now {
  A rate = 0;
  long steps = 1;
  A correct1 = 1, correct2 = 1;  // Adam's bias corrections, computed once a step
  A decay = 1;                   // factor of the weight decay
  A average = 0;                 // as of a RunGroup

  /// For the weights of a group.
  CLEAVE_HD Now in(ParameterGroup const& group) const {
    Now n = *this;
    n.rate *= static_cast<A>(group.rate);
    n.decay *= static_cast<A>(group.decay);
    return n;
  }
  CLEAVE_HD Now in(RunGroup const& group) const {
    Now n = in(static_cast<ParameterGroup const&>(group));
    n.average = static_cast<A>(group.average);
    return n;
  }
};
/// The optimizer of a model some of whose weights are not learned.
template <class Base> struct Averaging : Base {
  static constexpr bool averages = true;
  static constexpr ParameterGroup group(Parameter const& p) {
    if constexpr (HasGroups<Base>) return Base::group(p);
    return {};
  }
  template <class Self, class A> CLEAVE_HD static void step(A& w, A g, A& m0, A& m1, Now<A> const& now) {
    if (now.average != A{0}) {
      w = multiply_add(now.average, g - w, w);
    } else {
      Base::template step<Self, A>(w, g, m0, m1, now);
    }
  }
};
template <class Optimizer>
concept Averages = requires {
  Optimizer::averages;
};
/// Of the weights of a group: gradients that are means are not scaled.
template <class Optimizer, class A> CLEAVE_HD A factor_of_gradients(Now<A> const& now, A scale) {
  if constexpr (Averages<Optimizer>) {
    if (now.average != A{0}) return A{1};
  }
  return scale;
}
/// `Optimizer` itself, or for such a model.
template <class Optimizer, bool Some> struct with_averages { using is = Averaging<Optimizer>; };
template <class Optimizer> struct with_averages<Optimizer, false> { using is = Optimizer; };

/// The values for step `step`, counted from 0, at learning rate `rate`.
template <class Optimizer, class A> Now<A> now(double rate, long step) {
  Now<A> n;
  n.rate = static_cast<A>(rate);
  n.steps = step + 1;
  if constexpr (requires { Optimizer::beta1; }) {
    auto const steps = static_cast<double>(n.steps);
    n.correct1 = static_cast<A>(1 - std::pow(static_cast<double>(Optimizer::beta1), steps));
    n.correct2 = static_cast<A>(1 - std::pow(static_cast<double>(Optimizer::beta2), steps));
  }
  return n;
}

}  // namespace cleave::optim
