// train/plan_for.hpp - `Plan<Net, Batch<256>, Adam, PlanFor<Lab, 8>>`: the compiler chooses replicas, ways, splits, ZeRO and rounds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>

#include "../plan/plan.hpp"
#include "../sim/split_for.hpp"
#include "../sim/step.hpp"

namespace cleave {

namespace session {
struct PlanForKind {};

/// One way to train on a machine: `ns` and `bytes` are the modelled step and a rank's memory. `rounds` are those of
/// Accumulate, `zero` the stage of Zero.
struct PlanCandidate {
  int replicas = 1, ways = 1, zero = 0, rounds = 1;
  double ns = -1;
  long bytes = 0;
  bool fits = false;

  constexpr int ranks() const { return replicas * ways; }
  /// Faster, or, if nothing is gained, on fewer ranks.
  constexpr bool better_than(PlanCandidate const& o) const {
    return fits && (!o.fits || ns < o.ns || (ns == o.ns && ranks() < o.ranks()));
  }
};

/// The candidates for a net with policies Ps on ranks of machine M: every number of replicas and of ways whose product
/// divides `Ranks`. Of each the first that fits the machine's capacity: without ZeRO, with its stages in order, and
/// then with 2, 4 and 8 rounds. If none does, the one that needs least.
template <class M, int Ranks, class Net, class... Ps> struct PlanChoice {
  template <class Kind> static constexpr bool says = plan::said<Kind, Ps...> > 0;
  static constexpr int batch = plan::find<plan::BatchKind, plan::NoBatch, Ps...>::samples;
  static constexpr bool counts_micro_batches = says<plan::MicroBatchKind>;
  static constexpr int most_rounds = 8;

  /// Of so many replicas; 0: they have no micro-batch each.
  static constexpr int micro_batches(int replicas, int ways, int rounds) {
    int const least = replicas * rounds;
    if (counts_micro_batches) {
      int const said = plan::find<plan::MicroBatchKind, MicroBatches<1>, Ps...>::count;
      return said >= least ? said : 0;
    }
    if (least * ways == 1) return 1;
    int const n = plan::default_micro_batches(batch, least, ways);
    return n >= least && n % ways == 0 && batch % n == 0 ? n : 0;
  }

  template <class... Lists> struct Made;
  template <class... Of> struct Made<meta::list<Of...>> { using type = Plan<Net, Of...>; };
  template <bool Says, class P> using if_ = std::conditional_t<Says, meta::list<P>, meta::list<>>;
  template <int Replicas, int Ways, int Zeros = 0, int Rounds = 1>
  using PlanOf = typename Made<
      meta::concat<meta::list<Ps..., Mesh<Data<Replicas>, Model<Ways>>>,
                   if_<!counts_micro_batches, MicroBatches<micro_batches(Replicas, Ways, Rounds)>>,
                   if_<(Rounds > 1), Accumulate<Rounds>>,
                   meta::list<std::conditional_t<(Zeros > 0), DataParallel<Sync, Zero<Zeros>>, DataParallel<Sync>>>,
                   if_<(Ways > 1), ModelParallel<SplitFor<M, Replicas>, cleave::Ways<Ways>>>>>::type;

  template <int Replicas, int Ways, int Zeros = 0, int Rounds = 1> static constexpr PlanCandidate candidate() {
    using P = PlanOf<Replicas, Ways, Zeros, Rounds>;
    constexpr long bytes = plan::memory_of<P, Replicas>().total;
    return {Replicas,
            Ways,
            Zeros,
            Rounds,
            sim::step<M, P>(Replicas).total,
            bytes,
            M::capacity == 0 || bytes <= M::capacity};
  }
  static constexpr PlanCandidate that_fits_or_needs_less(PlanCandidate const& a, PlanCandidate const& b) {
    return b.fits || b.bytes < a.bytes ? b : a;
  }
  template <int Replicas, int Ways, int Zeros = 0, int Rounds = 1> static constexpr PlanCandidate first_that_fits() {
    using P = PlanOf<Replicas, Ways, Zeros, Rounds>;
    constexpr PlanCandidate c = candidate<Replicas, Ways, Zeros, Rounds>();
    if constexpr (c.fits) {
      return c;
    } else if constexpr (constexpr int next = next_zero<P>(Zeros); next > 0) {
      return that_fits_or_needs_less(c, first_that_fits<Replicas, Ways, next, Rounds>());
    } else if constexpr (2 * Rounds <= most_rounds && micro_batches(Replicas, Ways, 2 * Rounds) > 0 && !P::factors &&
                         !takes_sums_over_batch<P>()) {
      return that_fits_or_needs_less(c, first_that_fits<Replicas, Ways, 0, 2 * Rounds>());
    } else {
      return c;
    }
  }
  /// 0: there is none.
  template <class P> static constexpr int next_zero(int zero) {
    bool const parts = P::replicas > 1 && !says<plan::CompressKind> && !plan::sends_parts_of_gradients(P::signatures);
    int const most = !parts ? 0 : says<plan::FreezeKind> ? 2 : 3;
    return zero < most ? zero + 1 : 0;
  }
  template <class P> static constexpr bool takes_sums_over_batch() {
    for (int k = 0; k < P::ops::size; ++k) {
      if (P::signatures.op[k].sums_batch) return true;
    }
    return false;
  }

  /// By ways, then by replicas: the first is one rank. Calls visit(replicas, ways).
  template <class Visit> static constexpr void each_pair(Visit visit) {
    for (int w = 1; w <= Ranks; ++w) {
      for (int r = 1; w * r <= Ranks; ++r) {
        if (Ranks % (w * r) == 0 && (w * r == 1 || micro_batches(r, w, 1) > 0)) visit(r, w);
      }
    }
  }
  static constexpr int pairs = [] {
    int n = 0;
    each_pair([&](int, int) { ++n; });
    return n;
  }();
  static constexpr PlanCandidate pair(int of) {
    PlanCandidate c;
    each_pair([&](int r, int w) {
      if (of-- == 0) c.replicas = r, c.ways = w;
    });
    return c;
  }
  template <int Pair> static constexpr PlanCandidate base = candidate<pair(Pair).replicas, pair(Pair).ways>();
  static constexpr PlanCandidate best_of(std::array<PlanCandidate, pairs> const& all) {
    PlanCandidate best = all[0];
    for (PlanCandidate const& c : all) {
      if (c.better_than(best) || (!best.fits && c.bytes < best.bytes)) best = c;
    }
    return best;
  }
  /// ZeRO and rounds save memory, and hardly time: what is slower without them than what fits is not tried with them.
  template <int Pair, class Best> static constexpr PlanCandidate refined(Best best) {
    constexpr PlanCandidate b = base<Pair>;
    if constexpr (b.fits || (best().fits && b.ns >= best().ns)) {
      return b;
    } else {
      return first_that_fits<b.replicas, b.ways>();
    }
  }
  template <int... Pair> static constexpr auto all_of(std::integer_sequence<int, Pair...>) {
    constexpr auto best = [] { return best_of({base<Pair>...}); };
    return std::array<PlanCandidate, pairs>{refined<Pair>(best)...};
  }
  static constexpr std::array<PlanCandidate, pairs> candidates = all_of(std::make_integer_sequence<int, pairs>{});
  static constexpr PlanCandidate chosen = best_of(candidates);
};

/// The memory that a rank has, and the least that a rank of any candidate needs.
template <bool Fits, long Capacity, long Least> struct some_candidate_fits {
  static_assert(Fits,
                "PlanFor<machine, ranks>: no plan on so many ranks, with up to 8 rounds, fits the machine's capacity; "
                "the numbers "
                "are the capacity and the least that a rank needs, in bytes. More ranks, bf16, Recompute or a smaller "
                "batch help");
};

template <bool Alone> struct plan_for_chooses_alone {
  static_assert(
      Alone,
      "PlanFor<machine, ranks> chooses DataParallel, ModelParallel (of layers, too), Mesh and Accumulate, and "
      "has neither Shards, ReduceBy nor SequenceParallel: leave these out, or leave PlanFor out and write what "
      "explain_plan says");
};
template <bool Counted> struct plan_for_has_ranks {
  static_assert(Counted, "PlanFor<machine, ranks> is said once, with 1 to 64 ranks");
};

template <bool Told> struct plan_for_is_told_micro_batches {
  static_assert(
      Told,
      "PlanFor<machine, ranks> and GhostBatchNorm: the statistics are of a micro-batch, whose size matters for "
      "training; say MicroBatches<m>");
};

template <class P> inline constexpr bool is_plan_for = plan::is_kind<PlanForKind, P>;
template <class... Ps> inline constexpr int plans_for = plan::said<PlanForKind, Ps...>;

/// Of the policies of a plan, one of which is PlanFor.
template <class Net, class... Ps> struct ChosenPlan {
  using said = plan::find<PlanForKind, void, Ps...>;
  template <class... Others>
  static auto choice_of(meta::list<Others...>) -> PlanChoice<typename said::machine, said::ranks, Net, Others...>;
  using choice =
      decltype(choice_of(meta::concat<std::conditional_t<is_plan_for<Ps>, meta::list<>, meta::list<Ps>>...>{}));
  template <class... Kinds> static constexpr int says = (0 + ... + plan::said<Kinds, Ps...>);
  static constexpr bool alone = says<plan::DataKind, plan::ServerKind, plan::ModelKind, plan::StageKind, plan::MeshKind,
                                     plan::RoundKind, plan::RouteKind, plan::SequenceKind> == 0 &&
                                !plan::some_layer_says(layer::leaves<Net>{}),
                        counted = said::ranks >= 1 && said::ranks <= 64 && plans_for<Ps...> == 1,
                        told = says<plan::MicroBatchKind> == 1 || !plan::averages<layer::ops_of<Net>>;
  /// Of a plan that cannot be chosen, one that reports nothing; of one without a batch, one that reports it.
  template <bool Chooses, class Choice> struct Decided {
    static constexpr PlanCandidate is{};
    static constexpr bool fits = true;
    using type = std::conditional_t<alone && counted && told, Plan<Net>, Plan<Net, Batch<1>>>;
  };
  template <class Choice> struct Decided<true, Choice> {
    static constexpr PlanCandidate is = Choice::chosen;
    static constexpr bool fits = is.fits;
    using type = typename Choice::template PlanOf<is.replicas, is.ways, is.zero, is.rounds>;
  };
  using decided = Decided<alone && counted && told && (choice::batch > 0), choice>;
  static_assert(sizeof(plan_for_chooses_alone<alone>) + sizeof(plan_for_has_ranks<counted>) +
                    sizeof(plan_for_is_told_micro_batches<told>) +
                    sizeof(some_candidate_fits<decided::fits, said::machine::capacity, decided::is.bytes>) >
                0);
};

}  // namespace session

/// Of a plan: the compiler chooses how up to `Ranks` ranks of machine M train the net, as makes a step fastest in the
/// model of `step_time`: replicas, ways with their splits (as SplitFor), the smallest stage of Zero that fits the
/// machine's `capacity` if one is said, and rounds of Accumulate if none does. Ranks that make a step no faster are not
/// used. `explain_plan` says why. What is said beside it stays as it is.
template <class M, int Ranks> struct PlanFor {
  using kind = session::PlanForKind;
  using machine = M;
  static constexpr int ranks = Ranks;
};

template <class NetT, class... Policies>
requires(session::plans_for<Policies...> > 0) struct Plan<NetT, Policies...>
    : session::ChosenPlan<NetT, Policies...>::decided::type {
  using choice = typename session::ChosenPlan<NetT, Policies...>::choice;
};

/// Of a plan with PlanFor: all candidates with their modelled steps and memory, and the policies of the chosen one.
template <class P> std::string explain_plan() {
  using Choice = typename P::choice;
  auto const& chosen = Choice::chosen;
  auto const text = [](session::PlanCandidate const& c) {
    std::string out = std::to_string(c.replicas) + " x " + std::to_string(c.ways);
    if (c.zero > 0) out += ", Zero<" + std::to_string(c.zero) + ">";
    if (c.rounds > 1) out += ", Accumulate<" + std::to_string(c.rounds) + ">";
    return out;
  };
  std::string out = "replicas x ways\n";
  for (session::PlanCandidate const& c : Choice::candidates) {
    bool const best = c.replicas == chosen.replicas && c.ways == chosen.ways;
    char line[120];
    std::snprintf(line, sizeof line, "  %-32s %9.3g ms %10.1f MiB a rank%s\n", text(c).c_str(), c.ns / 1e6,
                  static_cast<double>(c.bytes) / (1 << 20),
                  best     ? ", chosen"
                  : c.fits ? ""
                           : ", does not fit");
    out += line;
  }
  out += "by hand: ";
  auto const of = [](int n) { return "<" + std::to_string(n) + ">"; };
  out += "Mesh<Data" + of(chosen.replicas) + ", Model" + of(chosen.ways) + ">" +
         (Choice::counts_micro_batches ? "" : ", MicroBatches" + of(P::micro_batches)) + ", DataParallel<Sync" +
         (chosen.zero > 0 ? ", Zero" + of(chosen.zero) : "") + ">";
  if (chosen.rounds > 1) out += ", Accumulate" + of(chosen.rounds);
  if (chosen.ways > 1) {
    out += ", ModelParallel<SplitFor<machine, " + std::to_string(chosen.replicas) + ">, Ways" + of(chosen.ways) + ">";
  }
  return out + "\n";
}

}  // namespace cleave
