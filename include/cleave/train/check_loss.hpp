// train/check_loss.hpp - tests a user's loss: its gradient against differences in f64, any number of replicas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "check_layer.hpp"

namespace cleave {

namespace session {

/// A model that ends with the loss, whose gradient reaches weights and input through the layer before it.
template <class Loss, class Input> struct Judged;
template <class Loss, int N> struct Judged<Loss, Vector<N>> : Sequential<Vector<N>, Linear<N>, Loss> {};
template <class Loss, int T, int N>
struct Judged<Loss, Sequence<T, N>> : Sequential<Sequence<T, N>, PerPosition<Linear<N>>, Loss> {};
template <class Loss, int C, int H, int W>
struct Judged<Loss, Image<C, H, W>> : Sequential<Image<C, H, W>, Conv<C, 1>, Loss> {};

template <class Loss, class Input> CheckReport check_loss_with(bool targets) {
  using P = Probe<Judged<Loss, Input>>;
  using D = Probe<Judged<Loss, Input>, DataParallel<Sync>>;
  std::string const with = targets ? " with targets" : " with classes";
  CheckReport r = same<P, P>("a second run" + with, 1, 0, targets);
  if (r) r = numeric<P>("check_loss" + with, targets);
  if (r) r = same<P, D>("two replicas" + with, 2, 0, targets);
  if (r) r = same<P, D>("three replicas" + with, 3, 0, targets);
  if (r) r = same<P, D>("four replicas" + with, 4, 0, targets);
  return r;
}

}  // namespace session

/// `check_loss<AbsoluteError, Vector<8>>()` checks the gradient of a loss of so many outputs by central differences in
/// f64; one to four replicas, bit for bit; and two runs, bit for bit: with classes, with targets from 0 to 1, or both,
/// as the loss takes them. Points where the slope jumps are not looked for. The loss of sequences of classes is
/// `check_loss<PerPosition<CrossEntropy>, Sequence<3, 5>>()`.
template <class Loss, class Input> CheckReport check_loss() {
  using P = session::Probe<session::Judged<Loss, Input>>;
  CheckReport r;
  if constexpr (plan::legal<P>) {
    constexpr op::Target target = P::signatures.op[P::ops::size - 1].target;
    if (target != op::Target::Numbers) r = session::check_loss_with<Loss, Input>(false);
    if (r && target != op::Target::Class) r = session::check_loss_with<Loss, Input>(true);
    if (r) r.text = "right";
  }
  return r;
}

}  // namespace cleave
