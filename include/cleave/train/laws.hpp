// train/laws.hpp - what must hold of what `run` is given: a plan, its members, and a data set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "../agree/agreement.hpp"
#include "../io/images.hpp"
#include "../layer/graph.hpp"
#include "../meta/law.hpp"
#include "../optim/sgd.hpp"
#include "../plan/members.hpp"

namespace cleave::session {

template <bool Is> struct run_is_given_a_plan {
  static constexpr bool holds = Is;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "run<Plan, Data>: the first is no plan: struct Train : Plan<Net, Batch<128>, ...> {}; a model is none, "
        "and a class hides what it is made of, so say struct");
  };
};
template <bool Is> struct run_is_given_data {
  static constexpr bool holds = Is;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "run<Plan, Data>: the second is no data set: Mnist, Cifar10, or a struct with the members of Mnist "
                  "(data/data.hpp), at least name and read(folder, split, note)");
  };
};

template <class P> struct plan_of_ { using type = P; };
template <class P>
requires requires { typename P::plan; }
struct plan_of_<P> {
  using type = typename P::plan;
};
/// P for `Sandblaster<P>` and other trainers of P; a plan is its own.
template <class P> using plan_of = typename plan_of_<P>::type;

template <class P>
concept IsPlan = requires {
  P::legal;
  typename P::Net;
};
template <class Data>
concept IsData = requires(std::string const& folder, io::Split split, std::string& note) {
  std::string(Data::name);
  Data::read(folder, split, note);
};

template <bool Is> struct a_trainer_is_given_a_plan {
  static constexpr bool holds = Is;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "Trainer<Plan>: this is no plan: struct Train : Plan<Net, Batch<128>, ...> {}; a model is none, and a class "
        "hides what it is made of, so say struct");
  };
};
template <bool Infers> struct a_trainer_has_a_backward_pass {
  static constexpr bool holds = !Infers;
  template <bool Holds> struct tell {
    static_assert(Holds, "Trainer: an Inference plan has no gradients; leave Inference out, or take Predictor<Net>");
  };
};
template <bool Served> struct only_a_server_has_a_clock {
  static constexpr bool holds = Served;
  template <bool Holds> struct tell {
    static_assert(Holds, "Simulated: replicas that agree by collectives have no server; say Shards<1>");
  };
};
template <class Agreement, bool OnTheirOwn> struct portions_are_computed_alone {
  static constexpr bool holds = OnTheirOwn;
  template <bool Holds> struct tell {
    static_assert(Holds, "Sandblaster: replicas compute portions on their own; say DataParallel<Async>");
  };
};
template <class Optimizer> struct portions_are_stepped_by_lbfgs {
  static constexpr bool holds = std::is_same_v<Optimizer, Sgd>;
  template <bool Holds> struct tell {
    static_assert(Holds, "Sandblaster: weights are stepped by L-BFGS; leave the plan's optimizer out");
  };
};
template <bool Averages> struct portions_have_no_running_means {
  static constexpr bool holds = !Averages;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Sandblaster: L-BFGS steps all weights, and some weights of GhostBatchNorm are running means; "
                  "normalize by LayerNorm");
  };
};
template <class Compress, bool Compressed> struct portions_are_not_compressed {
  static constexpr bool holds = !Compressed;
  template <bool Holds> struct tell {
    static_assert(Holds, "Sandblaster: its sums have one set of bits for any replicas; leave Compress out");
  };
};

/// For a legal plan; for another nothing is checked, since its violation has been reported.
template <class P> struct laws_of_trainers {
  using trainer = meta::enforce<a_trainer_is_given_a_plan<!layer::Model<P>>, P>;
  using simulated = meta::enforce<meta::lawful>;
  using sandblaster = simulated;
};
template <class P>
requires plan::legal<P>
struct laws_of_trainers<P> {
  using trainer =
      meta::first_broken<meta::enforce<a_trainer_has_a_backward_pass<P::infers>, P>, plan::law_of_members<P>>;
  using simulated = meta::enforce<only_a_server_has_a_clock<P::served>, P>;
  static constexpr bool alone = P::served && !P::agreed::waits && P::agreed::change == agree::Change::Step &&
                                P::agreed::pace.fetch == 1 && P::agreed::pace.push == 1;
  using sandblaster =
      meta::first_broken<meta::enforce<portions_are_computed_alone<typename P::agreement, alone>, P>,
                         meta::enforce<portions_have_no_running_means<P::averages>, P>,
                         meta::enforce<portions_are_stepped_by_lbfgs<typename P::optimizer>, P>,
                         meta::enforce<portions_are_not_compressed<typename P::compress, P::compressed>, P>>;
};

/// Whether P is a legal plan that trains, with members that are read.
template <class P> inline constexpr bool trains = false;
template <class P>
requires plan::legal<P>
inline constexpr bool trains<P> = meta::holds<typename laws_of_trainers<P>::trainer>;

/// The members of a plan whose policies are right; otherwise nothing is checked.
template <class P> struct law_of_members_ { using type = meta::enforce<meta::lawful>; };
template <class P>
requires plan::legal<P>
struct law_of_members_<P> {
  using type = plan::law_of_members<P>;
};

template <class P, class Data>
using law_of_a_run = meta::first_broken<meta::enforce<run_is_given_a_plan<IsPlan<plan_of<P>>>, P>,
                                        meta::enforce<run_is_given_data<IsData<Data>>, Data>,
                                        typename law_of_members_<plan_of<P>>::type>;

}  // namespace cleave::session
