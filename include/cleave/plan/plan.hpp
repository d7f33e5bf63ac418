// plan/plan.hpp - a model and how it is trained, as one type: its words are checked here, once, and become a schedule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../optim/rate.hpp"
#include "../schedule/volume.hpp"
#include "find.hpp"
#include "laws.hpp"
#include "policies.hpp"

namespace cleave {

namespace plan {

/// What a plan means when it says nothing.
struct NoBatch : Batch<0> {};
struct NoData {
  using agreement = Sync;
};
struct NoModel {
  static constexpr char convolutions = 'W', products = 'W';
  static constexpr int ways = 0;
};
struct ModelSaysNothing {
  static constexpr char products = 0;
};
struct NoMesh {
  static constexpr int replicas = 0, ways = 0;
};
struct NoCount {
  static constexpr int count = 0;
};

constexpr int default_micro_batches(int samples) {
  int n = 8;
  while (n > 1 && samples % n != 0) n /= 2;
  return n;
}

template <class List> struct words_of_a_layer;
template <class... Ps> struct words_of_a_layer<meta::list<Ps...>> {
  static constexpr bool known = ((std::is_base_of_v<layer::Option, Ps> || is_kind<ModelKind, Ps>)&&... && true);
  static constexpr int splits = said<ModelKind, Ps...>;
};

/// The front door: each law is told once, with the layer or the policy beside it.
template <place::Verdict V, class Leaves> constexpr bool keeps_the_laws() {
  if constexpr (V.law != place::Law::None) {
    return sizeof(meta::enforce<place::law_of<V.law, V.a, V.b>, meta::at<Leaves, V.leaf>>) > 0;
  }
  return true;
}
template <class... Leaves> constexpr bool layers_keep_the_laws(meta::list<Leaves...>) {
  return ((sizeof(meta::enforce<every_word_is_an_option_or_a_split<words_of_a_layer<typename Leaves::policies>::known>,
                                Leaves>) > 0 &&
           sizeof(meta::enforce<each_kind_of_policy_is_said_once<words_of_a_layer<typename Leaves::policies>::splits>,
                                Leaves>) > 0) &&
          ...);
}
template <class P, class Kinds> inline constexpr bool is_policy = false;
template <Policy P, class... Kinds>
inline constexpr bool is_policy<P, meta::list<Kinds...>> = (is_kind<Kinds, P> || ...);
template <class Kinds, class... Ps> struct words_of_a_plan;
template <class... Kinds, class... Ps> struct words_of_a_plan<meta::list<Kinds...>, Ps...> {
  static constexpr bool kept =
      ((sizeof(meta::enforce<every_word_is_a_policy<is_policy<Ps, meta::list<Kinds...>>>, Ps>) > 0) && ...) &&
      ((sizeof(meta::enforce<each_kind_of_policy_is_said_once<said<Kinds, Ps...>>, Kinds>) > 0) && ...);
};
using kinds = meta::list<BatchKind, MicroBatchKind, DataKind, ModelKind, MeshKind, PrecisionKind, SumKind,
                         ConversionKind, InputKind, optim::OptimizerKind>;

}  // namespace plan

/// `struct Train : Plan<Net, Batch<128>, DataParallel<Sync>, ModelParallel<SplitCols>, Precision<bf16>, Momentum> {};`
/// All that follows from it is constant: placements, schedule, traffic, memory. A learning rate may be given as a
/// member, `static constexpr Rate rate = Rate::cosine(0.1f, 5000);`.
template <class NetT, class... Policies> struct Plan {
  using Net = NetT;
  template <class Kind, class Otherwise> using policy = plan::find<Kind, Otherwise, Policies...>;
  using number = typename policy<plan::PrecisionKind, Precision<f32>>::number;
  using optimizer = policy<optim::OptimizerKind, Sgd>;
  using ops = typename Net::ops;
  using leaves = layer::leaves<Net>;
  static constexpr Rate rate = Rate::constant(0.01f);

  static_assert(plan::words_of_a_plan<plan::kinds, Policies...>::kept);
  static constexpr int batch = policy<plan::BatchKind, plan::NoBatch>::samples;
  static_assert(sizeof(meta::enforce<plan::the_batch_is_said<batch>, Net>) > 0);
  static_assert(sizeof(meta::enforce<plan::training_needs_a_floating_number<number>>) > 0);
  using agreement = typename policy<plan::DataKind, plan::NoData>::agreement;
  static_assert(sizeof(meta::enforce<plan::the_agreement_is_known<agreement>>) > 0);

  using model_policy = policy<plan::ModelKind, plan::NoModel>;
  using mesh = policy<plan::MeshKind, plan::NoMesh>;
  static_assert(sizeof(meta::enforce<plan::the_ways_agree<model_policy::ways, mesh::ways>, mesh, model_policy>) > 0);
  static constexpr bool data_parallel = plan::said<plan::DataKind, Policies...> > 0 || mesh::replicas > 1;
  /// 0: as many as the run has.
  static constexpr int replicas = mesh::replicas > 0 ? mesh::replicas : data_parallel ? 0 : 1;
  static constexpr int micro_batches = plan::said<plan::MicroBatchKind, Policies...> > 0
                                           ? policy<plan::MicroBatchKind, plan::NoCount>::count
                                       : data_parallel ? plan::default_micro_batches(batch)
                                                       : 1;
  static_assert(sizeof(meta::enforce<plan::micro_batches_divide_the_batch<batch, micro_batches>>) > 0);
  static_assert(sizeof(meta::enforce<plan::replicas_have_a_micro_batch_each<replicas, micro_batches>>) > 0);
  static_assert(plan::layers_keep_the_laws(leaves{}));

 private:
  template <class... Ops> static constexpr auto letters_of(meta::list<Ops...>) {
    struct Letters {
      char of[sizeof...(Ops)]{};
      int most_ways = 0;
    } out;
    layer::Graph<sizeof...(Ops)> graph;
    Net::connect(graph);
    constexpr bool convolves[] = {requires {Ops::kernel;
  }
  ...
};
char const* const said = leaf_letters(leaves{});
for (int k = 0; k < static_cast<int>(sizeof...(Ops)); ++k) {
  char const own = said[graph.leaf[k]];
  out.of[k] = own != 0 ? own : convolves[k] ? model_policy::convolutions : model_policy::products;
}
return out;
}  // namespace cleave
template <class... Leaves>
static constexpr char letters_said[] = {
    plan::find_in<plan::ModelKind, plan::ModelSaysNothing, typename Leaves::policies>::products...};
template <class... Leaves> static constexpr char const* leaf_letters(meta::list<Leaves...>) {
  return letters_said<Leaves...>;
}
template <class... Leaves> static constexpr bool some_layer_splits(meta::list<Leaves...>) {
  return ((plan::find_in<plan::ModelKind, plan::ModelSaysNothing, typename Leaves::policies>::products != 0) || ...);
}

public:
static constexpr int ways = mesh::ways > 0           ? mesh::ways
                            : model_policy::ways > 0 ? model_policy::ways
                            : plan::said<plan::ModelKind, Policies...> > 0 || some_layer_splits(leaves{}) ? 2
                                                                                                          : 1;
static_assert(sizeof(meta::enforce<plan::sizes_are_positive<ways, replicas>>) > 0);

static constexpr place::Request request{ways, batch / micro_batches, micro_batches,
                                        plan::said<plan::ConversionKind, Policies...> > 0,
                                        plan::said<plan::InputKind, Policies...> > 0};
static constexpr auto signatures = place::signatures<Net>(ops{});
static constexpr auto placed = place::place(signatures, letters_of(ops{}).of, request);
static_assert(plan::keeps_the_laws<placed.verdict, leaves>());

static constexpr auto schedule = cleave::schedule::build(signatures, placed, request);
static constexpr cleave::schedule::Format format{sizeof(number), sizeof(tensor::accumulate_t<number>),
                                                 optimizer::moments, policy<plan::SumKind, Ordered>::ordered};
}
;

/// Exact bytes of one rank's arena, by category, for a number of replicas (the plan's own, or 1, unless given).
template <class P, int Replicas = (P::replicas > 0 ? P::replicas : 1)>
inline constexpr schedule::Memory memory =
    schedule::layout(P::schedule, P::request, P::format, {Replicas, P::ways}).memory;

/// What a rank sends in one training step.
template <class P, int Replicas = (P::replicas > 0 ? P::replicas : 2), int Rank = 0>
inline constexpr schedule::Traffic traffic = schedule::traffic(P::schedule, P::placed, P::request, P::format,
                                                               {Replicas, P::ways}, Rank);

namespace plan {
template <class P, long Bytes, int Replicas> constexpr bool tell_fit() {
  using enum schedule::Category;
  constexpr schedule::Memory need = memory<P, Replicas>;
  if constexpr (need.total <= Bytes) {
    return true;
  } else {
    constexpr long mib = 1L << 20;
    constexpr auto format = [](int data, int moments) {
      schedule::Format f = P::format;
      f.data = data;
      f.moments = moments;
      return f;
    };
    constexpr auto total = [](schedule::Format f, int replicas) {
      return schedule::layout(P::schedule, P::request, f, {replicas, P::ways}).memory.total;
    };
    constexpr int twice = 2 * Replicas <= P::micro_batches ? 2 * Replicas : Replicas;
    return sizeof(
               meta::enforce<the_plan_fits_its_memory<need.total / mib, Bytes / mib>, weights_take<need[Weights] / mib>,
                             gradients_take<need[Gradients] / mib>, optimizer_takes<need[Optimizer] / mib>,
                             activations_take<need[Activations] / mib>,
                             twice_the_replicas_save<(need.total - total(P::format, twice)) / mib>,
                             precision_bf16_saves<(need.total - total(format(2, P::format.moments), Replicas)) / mib>,
                             plain_sgd_saves<(need.total - total(format(P::format.data, 0), Replicas)) / mib>>) > 0;
  }
}
}  // namespace plan

/// `static_assert(fits<Train, 2_GiB>);` A plan that does not fit says what takes the memory and what would save some.
/// To ask without being told, compare `memory<Train>.total`.
template <class P, long Bytes, int Replicas = (P::replicas > 0 ? P::replicas : 1)>
inline constexpr bool fits = plan::tell_fit<P, Bytes, Replicas>();

}  // namespace cleave
