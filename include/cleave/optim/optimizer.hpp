// optim/optimizer.hpp - what an optimizer is: how many tensors it keeps per weight, and one element's step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"

namespace cleave::optim {

struct OptimizerKind {};

/// a b + c. On a device it is rounded once, whichever kernel it stands in: kernels that read gradients in f32 and in
/// bf16 are compiled apart, and one rank must have the bits of several. So a step writes every sum of a product by
/// this.
template <class A> CLEAVE_HD A multiply_add(A a, A b, A c) {
#ifdef __CUDA_ARCH__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// Derive, set `moments` (0, 1 or 2) and `step`. Constants are members: derive again to change one.
///   struct Heavy : Momentum { static constexpr float momentum = 0.99f; };     // its step reads Self::momentum
template <class Self, int Moments> struct Optimizer {
  using kind = OptimizerKind;
  using origin = Self;
  static constexpr int moments = Moments;
};

/// `struct Clipped : Adam { static constexpr float clip_norm = 1; };` Where the norm over the gradients of all weights
/// is larger, all are multiplied by clip_norm / norm before anything else is done with them.
template <class Optimizer>
concept Clips = requires {
  Optimizer::clip_norm;
};
/// What gradients are multiplied by whose squares add up to this; not a number if that is none. As in PyTorch's
/// clip_grad_norm_. Source: Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural networks", 2013.
template <Clips Optimizer, class A> CLEAVE_HD A clip_scale(double squares) {
  double const scale = static_cast<double>(Optimizer::clip_norm) / (std::sqrt(squares) + 1e-6);
  return static_cast<A>(scale >= 1 ? 1.0 : scale);
}

/// What all elements of one step share. `steps` counts from 1.
template <class A> struct Now {
  A rate = 0;
  long steps = 1;
  A correct1 = 1, correct2 = 1;  // Adam's bias corrections, taken once a step
};
/// Of step `step`, counted from 0, at this rate.
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
