// optim/sgd.hpp - w -= rate g; with momentum; with Nesterov momentum.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "optimizer.hpp"

namespace cleave {

struct Sgd : optim::Optimizer<Sgd, 0> {
  static constexpr float weight_decay = 0;
  template <class P, class A> CLEAVE_HD static void step(A& w, A g, A&, A&, optim::Now<A> const& now) {
    if (P::weight_decay != 0) g = optim::multiply_add(A(P::weight_decay) * now.decay, w, g);
    w = optim::multiply_add(-now.rate, g, w);
  }
};

/// v = momentum v + g; w -= rate v.
struct Momentum : optim::Optimizer<Momentum, 1> {
  static constexpr float momentum = 0.9f, weight_decay = 0;
  template <class P, class A> CLEAVE_HD static void step(A& w, A g, A& v, A&, optim::Now<A> const& now) {
    g = optim::multiply_add(A(P::weight_decay) * now.decay, w, g);
    v = optim::multiply_add(A(P::momentum), v, g);
    w = optim::multiply_add(-now.rate, v, w);
  }
};

/// v = momentum v + g; w -= rate (g + momentum v). Source: Sutskever et al., "On the importance of initialization and
/// momentum in deep learning", 2013, in the form that PyTorch uses.
struct Nesterov : optim::Optimizer<Nesterov, 1> {
  static constexpr float momentum = 0.9f, weight_decay = 0;
  template <class P, class A> CLEAVE_HD static void step(A& w, A g, A& v, A&, optim::Now<A> const& now) {
    g = optim::multiply_add(A(P::weight_decay) * now.decay, w, g);
    v = optim::multiply_add(A(P::momentum), v, g);
    w = optim::multiply_add(-now.rate, optim::multiply_add(A(P::momentum), v, g), w);
  }
};

namespace optim {

/// Whether the optimizer is w -= rate g with gradients in format A. Then g is only a factor: if g is itself a product,
/// the step has the same bits whether the compiler rounds g first or not. Not so with weight decay or a momentum, where
/// the product g and a sum may become one multiply-add.
template <class Optimizer, class A>
inline constexpr bool is_plain_sgd = [] {
  if constexpr (std::is_base_of_v<Sgd, Optimizer> &&
                requires { typename std::bool_constant<Optimizer::weight_decay == 0>; }) {
    return Optimizer::weight_decay == 0 && &Optimizer::template step<Optimizer, A> == &Sgd::template step<Optimizer, A>;
  }
  return false;
}();

}  // namespace optim
}  // namespace cleave
