// layer/loss.hpp - the last layer: CrossEntropy, BinaryCrossEntropy, MeanSquaredError, Huber; smoothed, weighted by class or sample.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../op/class_sums.hpp"
#include "../op/loss.hpp"
#include "../op/weighted_loss.hpp"
#include "../tensor/elementary.hpp"
#include "graph.hpp"

namespace cleave {

namespace layer {

/// Of logits x and targets t from 0 to 1: -t log(sigmoid x) - (1 - t) log(1 - sigmoid x), for any x without overflow.
struct BinaryCrossEntropyFunction {
  static constexpr auto name = "binary_cross_entropy";
  static constexpr auto target = op::Target::Shares;
  template <class A> CLEAVE_HD static A loss(A x, A t) {
    A const magnitude = x < A{0} ? -x : x;
    return (x < A{0} ? A{0} : x) - x * t + std::log1p(tensor::exp(-magnitude));
  }
  template <class A> CLEAVE_HD static A slope(A x, A t) { return tensor::logistic(x) - t; }
};

/// The same, of which the part of t = 1 counts `Percent` per cent: one for all outputs, or one for each.
template <int... Percent> struct WeightedBinaryFunction {
  static constexpr auto name = "weighted_binary_cross_entropy";
  static constexpr auto target = op::Target::Shares;
  static constexpr int outputs = sizeof...(Percent) > 1 ? sizeof...(Percent) : 0;
  template <class A> CLEAVE_HD static A weight_of(long i) {
    A out = 0;
    long c = 0;
    ((out = sizeof...(Percent) == 1 || c++ == i ? A{Percent} / A{100} : out), ...);
    return out;
  }
  template <class A> CLEAVE_HD static A loss(A x, A t, long i) {
    A const magnitude = x < A{0} ? -x : x;
    A const softplus = (x < A{0} ? -x : A{0}) + std::log1p(tensor::exp(-magnitude));  // -log(sigmoid x)
    return (A{1} - t) * x + (A{1} + (weight_of<A>(i) - A{1}) * t) * softplus;
  }
  template <class A> CLEAVE_HD static A slope(A x, A t, long i) {
    A const w = weight_of<A>(i);
    return (A{1} + (w - A{1}) * t) * tensor::logistic(x) - w * t;
  }
};

/// Quadratic up to a distance of `Delta / Per`, linear beyond.
template <int Delta, int Per> struct HuberFunction {
  static constexpr auto name = "huber";
  static constexpr auto target = op::Target::Either;
  template <class A> CLEAVE_HD static A loss(A x, A t) {
    constexpr A delta = A{Delta} / A{Per};
    A const gap = x < t ? t - x : x - t;
    return gap > delta ? delta * (gap - delta / A{2}) : gap * gap / A{2};
  }
  template <class A> CLEAVE_HD static A slope(A x, A t) {
    constexpr A delta = A{Delta} / A{Per};
    A const gap = x - t;
    return gap > delta ? delta : gap < -delta ? -delta : gap;
  }
};

}  // namespace layer

/// Of logits, against a class: softmax and logarithm in one.
struct CrossEntropy : layer::Chain<op::SoftmaxCrossEntropy> {};
/// The same with the classes in parts, which need not be on one rank: behind a Linear whose columns are split no logits
/// are gathered, but eight numbers of each part. The classes have 64 parts, or 32, and so on: so many that they divide
/// and have 16 classes or more. Ways that divide the parts have whole ones; others gather the logits. The bits are the
/// same for any such ways. Pad a vocabulary: 50,304 has 64 parts, 50,257 has one. Source: Shoeybi et al.,
/// "Megatron-LM", 2019, section 3.
struct ParallelCrossEntropy {
  using ops = meta::list<op::ClassSums, op::CrossEntropyOfSums>;
  using policies = meta::list<>;
  static constexpr void connect(auto& graph) {
    int const x = graph.current;
    graph.join(x, -2);
    graph.join(x, graph.current);
    ++graph.leaves;
  }
};
/// The same with label smoothing: of the target, `Percent` per cent is shared by all classes, so that the model grows
/// less certain. `SmoothedCrossEntropy<10>` is PyTorch's CrossEntropyLoss(label_smoothing=0.1).
template <int Percent = 10> struct SmoothedCrossEntropy : layer::Chain<op::SoftmaxWithSmoothing<Percent>> {
  static_assert(Percent >= 1 && Percent <= 99,
                "SmoothedCrossEntropy<n>: n per cent of the target are shared by all classes, from 1 to 99");
};
/// CrossEntropy where a sample counts as much as its class, in per cent: `WeightedCrossEntropy<100, 100, 450>` for
/// three classes. The mean is over the samples of the batch, as without weights: PyTorch's divides by the sum of their
/// weights.
template <int... Percent>
struct WeightedCrossEntropy : layer::Chain<op::WeightedLoss<op::SoftmaxCrossEntropy, Percent...>> {
  static_assert(((Percent >= 0 && Percent <= 1'000'000) && ...),
                "WeightedCrossEntropy<w...>: weights are per cent, from 0 to 1,000,000");
};
/// With targets of the feed, or with classes as one-hot targets.
struct MeanSquaredError : layer::Chain<op::SquaredError> {};

/// Of logits, each against a target from 0 to 1, or against classes as one-hot targets: several labels a sample. The
/// mean over the outputs, as PyTorch's BCEWithLogitsLoss.
struct BinaryCrossEntropy : layer::Chain<op::FeatureLoss<layer::BinaryCrossEntropyFunction>> {};
/// BinaryCrossEntropy where what is there (a target of 1) counts `Percent` per cent, of all labels or of each: 1:4
/// positive samples want `WeightedBinaryCrossEntropy<400>`. As PyTorch's BCEWithLogitsLoss(pos_weight=4).
template <int... Percent>
struct WeightedBinaryCrossEntropy : layer::Chain<op::FeatureLoss<layer::WeightedBinaryFunction<Percent...>>> {
  static_assert(
      sizeof...(Percent) > 0 && ((Percent >= 0 && Percent <= 1'000'000) && ...),
      "WeightedBinaryCrossEntropy<w...>: weights are per cent, from 0 to 1,000,000; one, or one for each label");
};
/// Squared error / 2 up to a distance of Delta / Per from the target, linear beyond, so that outliers count less: as
/// PyTorch's HuberLoss. `Huber<1, 2>`: up to 0.5. Source: Huber, "Robust estimation of a location parameter", 1964.
template <int Delta = 1, int Per = 1> struct Huber : layer::Chain<op::FeatureLoss<layer::HuberFunction<Delta, Per>>> {
  static_assert(Delta >= 1 && Per >= 1, "Huber<delta, per>: the distance delta / per is above 0, both whole numbers");
};

namespace layer {
/// What is no such loss stays as it is, for the law to tell.
template <class Ops> struct sample_weighted_ {
  static constexpr bool holds = false;
  using type = Ops;
};
template <class Op>
requires(Op::is_loss&& Op::inputs == 1 && Op::weights == 0 && Op::states == 0 &&
         !Op::weighs_samples) struct sample_weighted_<meta::list<Op>> {
  static constexpr bool holds = true;
  using type = meta::list<op::SampleWeightedLoss<Op>>;
};
template <class Ops> struct a_weighted_loss_is_one_operation {
  static constexpr bool holds = sample_weighted_<Ops>::holds;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SampleWeighted<loss>: a loss of one operation without weights or a state, such as CrossEntropy or "
                  "Huber<>; not ParallelCrossEntropy, nor one that has weights of samples already");
  };
};
}  // namespace layer

/// A loss in which each sample has a weight of its own, that of the data set (`with_weights`) or
/// `FitOptions::sample_weights`; where neither has any, as in an evaluation, each is 1. `SampleWeighted<CrossEntropy>`;
/// of sequences `PerPosition<Linear<65>, SampleWeighted<CrossEntropy>>`, a weight for the whole sequence. The loss of a
/// batch is the sum of weight times loss over the samples, divided by their number: as Keras' sample_weight. Weights
/// are 0 or more; a sample of weight 0 changes no gradient.
template <class Loss> struct SampleWeighted {
  using law = meta::first_violated<layer::law_of<Loss>, layer::a_weighted_loss_is_one_operation<layer::ops_of<Loss>>>;
  using ops = typename layer::sample_weighted_<layer::ops_of<Loss>>::type;
  using policies = meta::list<>;
  static constexpr void connect(auto& graph) { Loss::connect(graph); }
};

}  // namespace cleave
