// agree/laws.hpp - which options an agreement takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/law.hpp"
#include "agreement.hpp"

namespace cleave::agree {

template <class A, int Spares> struct spares_stand_in_for_those_that_are_waited_for {
  static constexpr bool holds = A::waits || Spares == 0;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "DataParallel: Spares stand in for replicas that are waited for, and this agreement waits for none; "
                  "say DataParallel<Sync, Spares<k>>");
  };
};
template <class A, int Rules> struct only_what_ages_can_be_stale {
  static constexpr bool holds = A::ages || Rules == 0;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "DataParallel: Stale and WarmUp are for gradients that age (Async, Downpour, StaleSynchronous); under "
        "this agreement none does");
  };
};
template <int Known, int Given> struct every_option_is_known_and_said_once {
  static constexpr bool holds = Known == Given;
  template <bool Holds> struct tell {
    static_assert(
        Holds, "DataParallel: after the agreement stand Spares, Stale, WarmUp, PerReplica or Zero, each at most once");
  };
};
template <class A, int Spares, class Portions> struct portions_of_gradients_are_fixed {
  static constexpr bool holds = Portions::groups == 0 || (A::change == Change::Step && Spares == 0);
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "DataParallel: PerReplica weighs gradients by their samples; LocalSGD and ElasticAveraging send "
                  "weights, and with Spares nobody knows beforehand whose samples an update has");
  };
};
template <int Stage, bool Said> struct zero_has_a_known_stage {
  static constexpr bool holds = !Said || (Stage >= 1 && Stage <= 3);
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Zero<n>: the stages are 1 (what the optimizer keeps is in parts), 2 (and gradients are in memory in "
                  "turn) and 3 (and so are weights)");
  };
};
template <int Fetch, int Push> struct paces_are_positive {
  static constexpr bool holds = Fetch >= 1 && Push >= 1;
  template <bool Holds> struct tell {
    static_assert(Holds, "DataParallel: steps between fetches and pushes are whole numbers from 1");
  };
};

template <int Rate, int Momentum> struct outer_steps_lead_to_the_mean {
  static constexpr bool holds = Rate >= 1 && Momentum >= 0 && Momentum < 100;
  template <bool Holds> struct tell {
    static_assert(Holds, "DiLoCo<steps, rate, momentum>: the rate is from 1 %, the momentum from 0 to 99 %");
  };
};

/// The first law that an agreement and its options violate.
template <class A, class... Options> struct judged {
  static constexpr int spares = said<SpareKind, Options...>, stale = said<StaleKind, Options...>,
                       warm_ups = said<WarmUpKind, Options...>, portions = said<PortionKind, Options...>,
                       zeros = said<ZeroKind, Options...>;
  static constexpr int known =
      int{spares > 0} + int{stale > 0} + int{warm_ups > 0} + int{portions > 0} + int{zeros > 0};
  static constexpr int spare = option<SpareKind, Spares<0>, Options...>::count;
  using law = meta::first_violated<
      every_option_is_known_and_said_once<known, int{sizeof...(Options)}>,
      spares_stand_in_for_those_that_are_waited_for<A, spare>, only_what_ages_can_be_stale<A, stale + warm_ups>,
      portions_of_gradients_are_fixed<A, spare, option<PortionKind, PerReplica<>, Options...>>,
      zero_has_a_known_stage<option<ZeroKind, Zero<0>, Options...>::stage, (zeros > 0)>,
      paces_are_positive<A::pace.fetch, A::pace.push>, outer_steps_lead_to_the_mean<A::outer.rate, A::outer.momentum>>;
};

template <class A, class Options> struct law_of_;
template <class A, class... Options> struct law_of_<A, meta::list<Options...>> {
  using law = typename judged<A, Options...>::law;
};
template <class A, class Options> using law_of = typename law_of_<A, Options>::law;

}  // namespace cleave::agree
