// agree/staleness.hpp - options for gradients that were computed with old weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave {

/// `Stale<Drop<8>>`: a gradient older than 8 updates is dropped, and counted.
template <int Oldest> struct Drop {
  static constexpr int oldest = Oldest;
  static constexpr float share(int) { return 1; }
};
/// `Stale<Damp>`: a gradient of age a is weighted by 1 / (1 + a). Source: Zhang, Gupta, Lian, Liu, "Staleness-aware
/// async-SGD for distributed deep learning", IJCAI 2016, which divides the rate by the age.
struct Damp {
  static constexpr int oldest = -1;
  static constexpr float share(int age) { return 1 / (1 + static_cast<float>(age)); }
};
/// `Stale<ScaleRate<25>>`: every gradient is weighted by 25 %, whatever its age: a lower rate for the whole run.
template <int Percent> struct ScaleRate {
  static constexpr int oldest = -1;
  static constexpr float share(int) { return static_cast<float>(Percent) / 100; }
};

namespace agree {
struct StaleKind {};
struct WarmUpKind {};
struct SpareKind {};
struct PortionKind {};
struct ZeroKind {};
}  // namespace agree

/// Combines rules: a gradient is dropped if one rule drops it, and the weights of all rules are multiplied.
template <class... Rules> struct Stale {
  using agreement_option = agree::StaleKind;
  static constexpr bool drops([[maybe_unused]] int age) { return ((Rules::oldest >= 0 && age > Rules::oldest) || ...); }
  static constexpr float share([[maybe_unused]] int age) { return (1.0f * ... * Rules::share(age)); }
};

/// One replica alone makes the first `Updates` updates; the others wait.
template <int Updates> struct WarmUp {
  using agreement_option = agree::WarmUpKind;
  static constexpr int updates = Updates;
};

/// `Sync, Spares<2>`: an update needs two gradients fewer than there are replicas; the slowest two are dropped. Source:
/// Chen, Pan, Monga, Bengio, Jozefowicz, "Revisiting distributed synchronous SGD", 2016.
template <int Count> struct Spares {
  using agreement_option = agree::SpareKind;
  static constexpr int count = Count;
};

/// `Sync, Zero<1>`: what the optimizer keeps (momentum, Adam's moments, f32 weights of a narrower format) is cut into
/// parts, one on each of the ranks that sum a gradient. A rank updates the weights of its part, and reads the others'.
/// The traffic of a plan without.
/// `Zero<2>`: also, a bucket of gradients is updated while those before it are computed, and its memory used again: two
/// buckets of gradients are there at a time. With clip_norm or LossScale a rank keeps its part of their sums until the
/// norm is known. With Accumulate the gradients of each round are summed over the replicas, which share its
/// micro-batches, and a rank keeps its part of the sums: one for each level of the tree over the rounds under Ordered,
/// in f32 or f64 under Fastest.
/// `Zero<3>`: also, a rank has its parts of the weights, and gathers a bucket of them before the steps that read it, in
/// the forward and in the backward pass: two buckets of weights are there at a time. 1.5 times the traffic. With
/// Accumulate weights are gathered in each round.
/// All of them give the same bits as a plan without. Source: Rajbhandari, Rasley, Ruwase, He, "ZeRO: memory
/// optimizations toward training trillion parameter models", 2020.
template <int Stage> struct Zero {
  using agreement_option = agree::ZeroKind;
  static constexpr int stage = Stage;
};

/// `Async, PerReplica<48, 16>`: the samples of one gradient, by groups of equally many neighbouring replicas: here 48
/// for the first half and 16 for the second, slower or staler. A gradient is weighted by its samples. Under Sync the
/// samples of all replicas are the batch, which determines the number of replicas; if replicas do not wait, the batch
/// is the mean over the groups.
template <int... Samples> struct PerReplica {
  using agreement_option = agree::PortionKind;
  static constexpr int groups = sizeof...(Samples);
  static constexpr int samples[sizeof...(Samples) + 1] = {Samples..., 0};
  static constexpr int sum = (0 + ... + Samples);
};

}  // namespace cleave
