// agree/agreement.hpp - the properties of an agreement, and the options it takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "staleness.hpp"
#include "worker.hpp"

namespace cleave::agree {

/// What an update does with what was pushed.
enum class Change : int {
  Step,     // gradients: their sum, by the plan's optimizer
  Average,  // weights: their mean
  Elastic   // weights: the centre moves towards them, and they towards the centre
};

/// The step of a server whose replicas push weights, from its weights x to their mean: v = momentum v + (x - mean);
/// x -= rate (x - mean + momentum v). In percent; by default x becomes the mean.
struct OuterStep {
  int rate = 100, momentum = 0;
  constexpr bool is_mean() const { return rate == 100 && momentum == 0; }
};

/// Base of agreements: derive, and define what differs. A new agreement is one header.
struct Agreement {
  static constexpr bool served = false;  // through a parameter server, not by collectives
  static constexpr bool waits = false;   // for other replicas in every update: there can be spares
  static constexpr bool ages = false;    // gradients can be stale
  static constexpr Change change = Change::Step;
  static constexpr Pace pace{};
  static constexpr int percent = 0;    // for Elastic
  static constexpr OuterStep outer{};  // for Average
};

template <class A> inline constexpr bool is_agreement = std::is_base_of_v<Agreement, A>;

template <class Kind, class Option> inline constexpr bool is_option = false;
template <class Kind, class Option>
requires requires { typename Option::agreement_option; }
inline constexpr bool is_option<Kind, Option> = std::is_same_v<Kind, typename Option::agreement_option>;

template <class Kind, class Otherwise, class... Options> struct option_ { using is = Otherwise; };
template <class Kind, class Otherwise, class O, class... Options>
struct option_<Kind, Otherwise, O, Options...>
    : std::conditional_t<is_option<Kind, O>, std::type_identity<option_<Kind, O>>,
                         std::type_identity<option_<Kind, Otherwise, Options...>>>::type {};
template <class Kind, class Otherwise, class... Options>
using option = typename option_<Kind, Otherwise, Options...>::is;
template <class Kind, class... Options> inline constexpr int said = (0 + ... + int{is_option<Kind, Options>});

/// An agreement with its options: the result of `DataParallel<A, Options...>`.
template <class A, class... Options> struct Agreed {
  using agreement = A;
  using stale = option<StaleKind, Stale<>, Options...>;
  static constexpr int spares = option<SpareKind, Spares<0>, Options...>::count;
  static constexpr int warm_up = option<WarmUpKind, WarmUp<0>, Options...>::updates;
  using portions = option<PortionKind, PerReplica<>, Options...>;
  static constexpr int zero = option<ZeroKind, Zero<0>, Options...>::stage;
  static constexpr bool served = A::served || spares > 0;
  static constexpr bool waits = A::waits;
  static constexpr Change change = A::change;
  static constexpr Pace pace = A::pace;
  static constexpr int percent = A::percent;
  static constexpr OuterStep outer = A::outer;
  /// Tensors of a server's shard, for an optimizer with so many.
  static constexpr int moments(int of_optimizer) { return of_optimizer > 0 || outer.is_mean() ? of_optimizer : 1; }
  template <int Most> using keeper = typename A::template keeper<Most, stale, warm_up>;
  /// The number of parts into which N replicas cut the batch: an update of waiting replicas uses one batch, and so does
  /// each gradient of those that do not wait.
  static constexpr int parts(int replicas) { return waits ? replicas - spares : 1; }
};

}  // namespace cleave::agree
