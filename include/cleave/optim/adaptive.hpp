// optim/adaptive.hpp - a rate for each weight: Adagrad, RmsProp, Adam, AdamW.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "optimizer.hpp"

namespace cleave {

/// Source: Duchi, Hazan, Singer, "Adaptive subgradient methods", 2011.
struct Adagrad : optim::Optimizer<Adagrad, 1> {
  static constexpr float epsilon = 1e-10f, weight_decay = 0;
  template <class P, class A> CLEAVE_HD static void step(A& w, A g, A& s, A&, optim::Now<A> const& now) {
    g = optim::multiply_add(A(P::weight_decay) * now.decay, w, g);
    s = optim::multiply_add(g, g, s);
    w -= now.rate * g / (std::sqrt(s) + A(P::epsilon));
  }
};

/// Source: Tieleman, Hinton, "Lecture 6.5: rmsprop", 2012.
struct RmsProp : optim::Optimizer<RmsProp, 1> {
  static constexpr float decay = 0.99f, epsilon = 1e-8f, weight_decay = 0;
  template <class P, class A> CLEAVE_HD static void step(A& w, A g, A& s, A&, optim::Now<A> const& now) {
    g = optim::multiply_add(A(P::weight_decay) * now.decay, w, g);
    s = optim::multiply_add(A(P::decay), s, (A{1} - A(P::decay)) * g * g);
    w -= now.rate * g / (std::sqrt(s) + A(P::epsilon));
  }
};

/// Source: Kingma, Ba, "Adam", 2015, algorithm 1.
struct Adam : optim::Optimizer<Adam, 2> {
  static constexpr float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, weight_decay = 0, default_rate = 0.001f;
  static constexpr bool decoupled = false;
  template <class P, class A> CLEAVE_HD static void step(A& w, A g, A& m, A& v, optim::Now<A> const& now) {
    if (P::decoupled) {
      w = optim::multiply_add(-now.rate * (A(P::weight_decay) * now.decay), w, w);
    } else {
      g = optim::multiply_add(A(P::weight_decay) * now.decay, w, g);
    }
    m = optim::multiply_add(A(P::beta1), m, (A{1} - A(P::beta1)) * g);
    v = optim::multiply_add(A(P::beta2), v, (A{1} - A(P::beta2)) * g * g);
    w -= now.rate * (m / now.correct1) / (std::sqrt(v / now.correct2) + A(P::epsilon));
  }
};

/// Weight decay separate from the gradient. Source: Loshchilov, Hutter, "Decoupled weight decay", 2019.
struct AdamW : Adam {
  static constexpr float weight_decay = 0.01f;
  static constexpr bool decoupled = true;
};

}  // namespace cleave
