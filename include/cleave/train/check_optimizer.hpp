// train/check_optimizer.hpp - tests a user's optimizer: what it keeps, stages of ZeRO, a resumed run, and whether it learns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "../layer/activation.hpp"
#include "../meta/text.hpp"
#include "check_layer.hpp"

namespace cleave {

namespace session {

struct CheckedFit : Sequential<Vector<6>, Linear<8>, Tanh, Linear<3>, MeanSquaredError> {};
template <class O, class Number, class... Agreement>
struct Stepped : Plan<CheckedFit, Batch<8>, MicroBatches<8>, Precision<Number>, O, Agreement...> {};

template <class P> std::vector<double> all_kept(Trainer<P>& trainer) {
  std::vector<double> out;
  for (Kept const& k : kept<P>()) {
    for (auto v : whole(trainer, k)) out.push_back(static_cast<double>(v));
  }
  return out;
}
template <class P> std::vector<double> stepped(int replicas, int steps) {
  Trainer<P> trainer(replicas, 5);
  Probing<P> const probe;
  trainer.train(0, steps, probe.feed());
  return all_kept(trainer);
}
/// After half of the steps all that a checkpoint keeps is handed to another trainer.
template <class P> std::vector<double> resumed(int steps) {
  Probing<P> const probe;
  Trainer<P> first(1, 5), second(1, 6);
  first.train(0, steps / 2, probe.feed());
  for (Kept const& k : kept<P>()) write_whole(second, k, whole(first, k).data());
  second.set_steps(steps / 2);
  second.train(steps / 2, steps - steps / 2, probe.feed());
  return all_kept(second);
}
/// One call of `step` with numbers in the place of what is not kept: they must stay.
template <class O> std::string writes_more_than_it_keeps() {
  double w = 0.5, kept1 = 0.25, kept2 = 0.75;
  O::template step<O>(w, 0.125, kept1, kept2, optim::now<O, double>(0.1, 2));
  bool const first = O::moments < 1 && kept1 != 0.25, second = O::moments < 2 && kept2 != 0.75;
  if (!first && !second) return {};
  return std::string("step writes its ") + (first ? "first" : "second") + " number, but keeps " +
         std::to_string(O::moments) + ": say optim::Optimizer<Self, " + (second ? "2" : "1") + ">";
}
/// The loss on the same samples at the optimizer's own rate.
template <class O> std::string does_not_learn() {
  using P = Stepped<O, double>;
  Trainer<P> trainer(1, 5);
  Probing<P> const probe;
  constexpr int steps = 1000, each = 50;
  double const before = trainer.train(0, each, probe.feed())[0];
  double after = before;
  for (int k = each; k < steps; k += each) after = trainer.train(k, each, probe.feed()).back();
  if (std::isfinite(after) && after < before) return {};
  return meta::joined({"at its default_rate, ", meta::short_number(double{O::default_rate}), ", the loss goes from ",
                       meta::short_number(before), " to ", meta::short_number(after), " in ", steps,
                       " steps on the same samples"});
}

}  // namespace session

/// `check_optimizer<SignMomentum>()` checks that `step` writes no more numbers than the optimizer keeps; that a run
/// continues bit for bit from what a checkpoint has of it, so that it keeps nothing elsewhere; that one to three
/// replicas and each stage of Zero give the same bits, in f64 and f32; and that the loss of a small model falls at
/// `default_rate`.
template <class Optimizer> CheckReport check_optimizer() {
  using namespace session;
  auto const wrong = [](std::string text) { return CheckReport{false, std::move(text)}; };
  if (std::string const more = writes_more_than_it_keeps<Optimizer>(); !more.empty()) return wrong(more);
  constexpr int steps = 6;
  using P = Stepped<Optimizer, double>;
  auto const alone = stepped<P>(1, steps);
  if (stepped<P>(1, steps) != alone)
    return wrong("a second run has other bits: does it keep something outside of its numbers?");
  if (resumed<P>(steps) != alone)
    return wrong("a run continued from a checkpoint has other bits: does it keep something outside of its numbers?");
  std::string differs;
  auto const equal = [&]<class Number>(Number, std::string const& format) {
    auto const whole = stepped<Stepped<Optimizer, Number>>(1, steps);
    auto const as = [&]<class Q>(meta::type<Q>, std::string const& what, int replicas) {
      if (differs.empty() && stepped<Q>(replicas, steps) != whole)
        differs = what + " in " + format + ": other bits than one rank";
    };
    as(meta::type<Stepped<Optimizer, Number, DataParallel<Sync>>>{}, "two replicas", 2);
    as(meta::type<Stepped<Optimizer, Number, DataParallel<Sync>>>{}, "three replicas", 3);
    as(meta::type<Stepped<Optimizer, Number, DataParallel<Sync, Zero<1>>>>{}, "Zero<1> on three replicas", 3);
    as(meta::type<Stepped<Optimizer, Number, DataParallel<Sync, Zero<2>>>>{}, "Zero<2> on three replicas", 3);
    as(meta::type<Stepped<Optimizer, Number, DataParallel<Sync, Zero<3>>>>{}, "Zero<3> on two replicas", 2);
  };
  equal(double{}, "f64");
  equal(float{}, "f32");
  if (!differs.empty()) return wrong(differs);
  if (std::string const text = does_not_learn<Optimizer>(); !text.empty()) return wrong(text);
  return {true, "right"};
}

}  // namespace cleave
