// plan/plan.hpp - a model and how it is trained, as one type: its words are checked here, once, and become a schedule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <initializer_list>

#include "../optim/rate.hpp"
#include "../schedule/volume.hpp"
#include "find.hpp"
#include "laws.hpp"
#include "letters.hpp"
#include "sending.hpp"
#include "unsaid.hpp"

namespace cleave {

namespace plan {

template <class List> struct words_of_a_layer;
template <class... Ps> struct words_of_a_layer<meta::list<Ps...>> {
  static constexpr bool known = ((std::is_base_of_v<layer::Option, Ps> || is_kind<ModelKind, Ps>)&&... && true);
  static constexpr int splits = said<ModelKind, Ps...>;
};
template <class P, class Kinds> inline constexpr bool is_policy = false;
template <Policy P, class... Kinds>
inline constexpr bool is_policy<P, meta::list<Kinds...>> = (is_kind<Kinds, P> || ...);
using kinds =
    meta::list<BatchKind, MicroBatchKind, RoundKind, DataKind, ServerKind, ModelKind, MeshKind, PrecisionKind, SumKind,
               CompressKind, RouteKind, BucketKind, WorkspaceKind, ConversionKind, InputKind, optim::OptimizerKind>;

constexpr Culprit first_false(std::initializer_list<bool> good) {
  std::size_t i = 0;
  for (bool g : good) {
    if (!g) return {i, 0, false};
    ++i;
  }
  return {};
}
constexpr Culprit first_repeated(std::initializer_list<int> counts) {
  std::size_t i = 0;
  for (int c : counts) {
    if (c > 1) return {i, c, false};
    ++i;
  }
  return {};
}
template <class... Leaves> constexpr Culprit unknown_word(meta::list<Leaves...>) {
  return first_false({words_of_a_layer<typename Leaves::policies>::known...});
}
template <class... Leaves> constexpr Culprit repeated_split(meta::list<Leaves...>) {
  return first_repeated({words_of_a_layer<typename Leaves::policies>::splits...});
}
template <class... Ps, class... Kinds> constexpr Culprit repeated_kind(meta::list<Kinds...>) {
  return first_repeated({said<Kinds, Ps...>...});
}

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

  // The front door: each law is told once, with the policy or the layer that breaks it beside it.
  static constexpr plan::Culprit stranger = plan::first_false({plan::is_policy<Policies, plan::kinds>..., true});
  static_assert(sizeof(meta::enforce<plan::every_word_is_a_policy<stranger.none>,
                                     meta::at<meta::list<Policies..., Net>, stranger.at>>) > 0);
  static constexpr plan::Culprit twice = plan::repeated_kind<Policies...>(plan::kinds{});
  static_assert(
      sizeof(meta::enforce<plan::each_kind_of_policy_is_said_once<twice.count>, meta::at<plan::kinds, twice.at>>) > 0);
  static constexpr int batch = policy<plan::BatchKind, plan::NoBatch>::samples;
  static_assert(sizeof(meta::enforce<plan::the_batch_is_said<batch>, Net>) > 0);
  static_assert(sizeof(meta::enforce<plan::training_needs_a_floating_number<number>>) > 0);
  using data_policy = policy<plan::DataKind, plan::NoData>;
  static_assert(sizeof(meta::enforce<plan::the_agreement_is_known<typename data_policy::agreement>>) > 0);
  using agreement = std::conditional_t<agree::is_agreement<typename data_policy::agreement>, data_policy, plan::NoData>;
  static_assert(sizeof(meta::enforce<agree::law_of<typename agreement::agreement, typename agreement::options>>) > 0);
  using agreed = typename agreement::agreed;
  static constexpr int shards_said = policy<plan::ServerKind, plan::NoShards>::count;
  static_assert(
      sizeof(meta::enforce<plan::shards_are_counted_from_one<shards_said, plan::said<plan::ServerKind, Policies...>>>) >
      0);
  static constexpr int shards = shards_said > 0 ? shards_said : 1;
  /// By a parameter server; otherwise by collectives.
  static constexpr bool served = agreed::served || shards_said > 0;
  /// To a server, whose optimizer it is that steps the weights.
  static constexpr bool pushes_gradients = served && agreed::change == agree::Change::Step;

  static constexpr bool clips = optim::Clips<optimizer>;
  static_assert(sizeof(meta::enforce<plan::gradients_are_clipped_where_they_are_summed<clips, !served>, optimizer>) >
                0);
  static_assert(
      sizeof(meta::enforce<plan::gradients_are_clipped_to_something<plan::clips_above_zero<optimizer>()>, optimizer>) >
      0);

  using compress = policy<plan::CompressKind, plan::NoCompress>;
  using codec = typename compress::codec;
  static constexpr bool compressed = !std::is_void_v<codec>;
  static constexpr bool codec_known = !compressed || std::is_base_of_v<send::Codec, codec>;
  static_assert(sizeof(meta::enforce<plan::compress_names_a_codec<codec, codec_known>>) > 0);
  static_assert(sizeof(meta::enforce<typename plan::law_of_sending<codec>::is, compress>) > 0);
  static_assert(sizeof(meta::enforce<plan::only_gradients_are_compressed<compressed, agreed::change>, agreement>) > 0);
  static constexpr bool ordered = policy<plan::SumKind, Ordered>::ordered;
  static_assert(sizeof(meta::enforce<plan::compressed_sums_depend_on_the_replicas<compressed, ordered, agreed::waits>,
                                     compress>) > 0);

  using route_said = typename policy<plan::RouteKind, plan::NoRoute>::route;
  static constexpr bool routed = !std::is_void_v<route_said>;
  static constexpr bool route_known = !routed || std::is_base_of_v<send::Route, route_said>;
  static_assert(sizeof(meta::enforce<plan::reduce_by_names_a_route<route_said, route_known>>) > 0);
  using route = std::conditional_t<route_known, route_said, void>;
  static_assert(sizeof(meta::enforce<typename plan::law_of_sending<route>::is, route>) > 0);
  static_assert(
      sizeof(meta::enforce<plan::compressed_gradients_have_a_route_of_their_own<routed, compressed>, compress>) > 0);

  using model_policy = policy<plan::ModelKind, plan::NoModel>;
  using mesh = policy<plan::MeshKind, plan::NoMesh>;
  static_assert(sizeof(meta::enforce<plan::the_ways_agree<model_policy::ways, mesh::ways>, mesh, model_policy>) > 0);
  static constexpr bool data_parallel = plan::said<plan::DataKind, Policies...> > 0 || mesh::replicas > 1;
  /// 0: as many as the run has.
  using portions_said = typename agreed::portions;
  static constexpr int replicas_of_portions = plan::replicas_of_portions<portions_said>(batch, agreed::waits);
  static constexpr int replicas = mesh::replicas > 0         ? mesh::replicas
                                  : replicas_of_portions > 0 ? replicas_of_portions
                                  : data_parallel            ? 0
                                                             : 1;
  static constexpr bool cuts_batch = (data_parallel && agreed::waits) || model_policy::convolutions == 'b' ||
                                     model_policy::products == 'b' || plan::some_layer_says(leaves{}, 'b');
  static_assert(sizeof(meta::enforce<plan::routes_are_for_collectives<routed, cuts_batch && !served>, route>) > 0);
  static_assert(sizeof(meta::enforce<plan::what_is_compressed_is_sent<compressed, cuts_batch || served>, Net>) > 0);
  static constexpr int rounds = policy<plan::RoundKind, plan::NoRounds>::rounds;
  static constexpr int micro_batches = plan::said<plan::MicroBatchKind, Policies...> > 0
                                           ? policy<plan::MicroBatchKind, plan::NoCount>::count
                                       : portions_said::groups > 0
                                           ? plan::micro_batches_of_portions<portions_said>(batch)
                                       : cuts_batch || rounds > 1 ? plan::default_micro_batches(batch)
                                                                  : 1;
  static_assert(sizeof(meta::enforce<plan::micro_batches_divide_the_batch<batch, micro_batches>>) > 0);
  static_assert(sizeof(meta::enforce<plan::portions_are_whole<portions_said, rounds, batch / micro_batches>>) > 0);
  static_assert(
      sizeof(meta::enforce<plan::portions_are_the_batch<portions_said, batch, agreed::waits ? replicas : 0>>) > 0);
  static_assert(sizeof(meta::enforce<plan::replicas_have_a_micro_batch_each<agreed::parts(replicas), micro_batches>>) >
                0);
  static_assert(
      sizeof(meta::enforce<plan::every_round_has_a_micro_batch<rounds, agreed::parts(replicas), micro_batches>>) > 0);
  static constexpr plan::Culprit strange = plan::unknown_word(leaves{}), resplit = plan::repeated_split(leaves{});
  static_assert(
      sizeof(meta::enforce<plan::every_word_is_an_option_or_a_split<strange.none>, meta::at<leaves, strange.at>>) > 0);
  static_assert(
      sizeof(meta::enforce<plan::each_kind_of_policy_is_said_once<resplit.count>, meta::at<leaves, resplit.at>>) > 0);

  static constexpr int ways = mesh::ways > 0           ? mesh::ways
                              : model_policy::ways > 0 ? model_policy::ways
                              : plan::said<plan::ModelKind, Policies...> > 0 || plan::some_layer_says(leaves{}) ? 2
                                                                                                                : 1;
  static_assert(sizeof(meta::enforce<plan::sizes_are_positive<ways, replicas>>) > 0);

  static constexpr long bucket_bytes = policy<plan::BucketKind, plan::NoBuckets>::bytes;
  static_assert(
      sizeof(meta::enforce<plan::buckets_hold_something<bucket_bytes, plan::said<plan::BucketKind, Policies...>>>) > 0);
  static constexpr int workspaces = plan::said<plan::WorkspaceKind, Policies...>;
  static constexpr long workspace_bytes = policy<plan::WorkspaceKind, plan::UsualWorkspace>::bytes;
  static_assert(sizeof(meta::enforce<plan::workspace_is_more_than_there_always_is<
                           workspace_bytes, cleave::schedule::workspace_bytes, workspaces>>) > 0);
  static_assert(sizeof(meta::enforce<plan::workspace_is_for_libraries<ordered, workspaces>>) > 0);
  static constexpr place::Request request{ways,
                                          batch / micro_batches,
                                          micro_batches,
                                          plan::said<plan::ConversionKind, Policies...> > 0,
                                          plan::said<plan::InputKind, Policies...> > 0,
                                          rounds,
                                          !served,
                                          (bucket_bytes + long{sizeof(number)} - 1) / long{sizeof(number)},
                                          plan::portions<portions_said>(batch / micro_batches),
                                          clips};
  static constexpr auto signatures = plan::with_factors(place::signatures<Net>(ops{}), leaves{});
  static constexpr plan::Culprit no_product = plan::no_product(signatures, leaves{});
  static_assert(sizeof(meta::enforce<plan::factors_are_of_products<no_product.none>, meta::at<leaves, no_product.at>>) >
                0);
  static constexpr bool factors = plan::always_factors(signatures);
  static_assert(sizeof(meta::enforce<plan::factors_are_there_at_once<factors, rounds>, Net>) > 0);
  static_assert(sizeof(meta::enforce<plan::factors_go_between_ranks<factors, cuts_batch && !served>, Net>) > 0);
  static constexpr plan::Tokens tokens = plan::tokens(signatures);
  static_assert(sizeof(meta::enforce<plan::tokens_come_from_the_data<tokens.first>,
                                     meta::at<leaves, static_cast<std::size_t>(tokens.leaf)>>) > 0);
  static_assert(sizeof(meta::enforce<plan::tokens_are_whole_in_the_format<tokens.vocabulary, plan::largest<number>>,
                                     meta::at<leaves, static_cast<std::size_t>(tokens.leaf)>>) > 0);
  static constexpr auto placed =
      place::place(signatures, plan::letters<Net, model_policy>(ops{}, leaves{}).of, request);
  static constexpr place::Verdict verdict = placed.verdict;
  static_assert(sizeof(meta::enforce<place::law_of<verdict.law, verdict.a, verdict.b>,
                                     meta::at<leaves, static_cast<std::size_t>(verdict.leaf)>>) > 0);

  static constexpr auto schedule = cleave::schedule::build(signatures, placed, request);
  static constexpr cleave::schedule::Format format{
      sizeof(number),
      sizeof(tensor::accumulate_t<number>),
      pushes_gradients ? 0 : optimizer::moments,
      ordered,
      !served                                 ? 0
      : agreed::change == agree::Change::Step ? sizeof(number)
                                              : sizeof(tensor::accumulate_t<number>),
      agreed::waits ? 1 : shards,
      pushes_gradients,
      plan::encoding<std::conditional_t<codec_known, codec, void>>(compress::feedback),
      plan::path<route>(),
      workspace_bytes};
  static constexpr bool in_order = !ordered || (plan::in_the_tree<route>(schedule, micro_batches, {replicas, ways}) &&
                                                (!routed || portions_said::groups == 0));
  static_assert(sizeof(meta::enforce<plan::the_route_keeps_the_order<route, in_order>>) > 0);
  static_assert(sizeof(meta::enforce<plan::nodes_are_full<route, plan::unfit<route>(replicas)>>) > 0);
  static constexpr cleave::schedule::Share share(cleave::schedule::Ranks ranks) {
    return cleave::schedule::shared(request, ranks);
  }
  /// What the ranks that sum with each other have among them: the whole batch, or one replica's part where a server
  /// stands between replicas.
  static constexpr place::Request request_of(int replicas_) {
    place::Request r = request;
    if (!served) return r;
    if (r.portions.groups > 0) {
      r.micro_batches = r.portions.largest();
      r.portions = {};
    } else if (agreed::parts(replicas_) > 0) {
      r.micro_batches = micro_batches / agreed::parts(replicas_);
    }
    return r;
  }
  static constexpr cleave::schedule::Ranks ranks_of(int replicas_) { return {served ? 1 : replicas_, ways}; }
};

/// Exact bytes of one rank's arena, by category, for a number of replicas (the plan's own, or 1, unless given).
template <class P, int Replicas = (P::replicas > 0 ? P::replicas : 1)>
inline constexpr schedule::Memory memory =
    schedule::layout(P::schedule, P::request_of(Replicas), P::format, P::ranks_of(Replicas)).memory;

/// What a rank sends in one training step.
template <class P, int Replicas = (P::replicas > 0 ? P::replicas : 2), int Rank = 0>
inline constexpr schedule::Traffic traffic = schedule::traffic(P::schedule, P::placed, P::request_of(Replicas),
                                                               P::format, P::ranks_of(Replicas),
                                                               P::served ? Rank % P::ways : Rank);

namespace plan {

/// What a plan needs, and what it would save by other means, in MiB.
struct Shortage {
  long needed = 0, by[schedule::categories]{}, by_replicas = 0, by_bf16 = 0, by_sgd = 0;
};
template <class P, int Replicas> constexpr Shortage shortage() {
  constexpr long mib = 1L << 20;
  schedule::Memory const need = memory<P, Replicas>;
  auto const saved = [&](int data, int moments, int replicas) {
    schedule::Format f = P::format;
    f.data = data;
    f.moments = moments;
    return (need.total -
            schedule::layout(P::schedule, P::request_of(replicas), f, P::ranks_of(replicas)).memory.total) /
           mib;
  };
  Shortage s;
  s.needed = need.total / mib;
  for (int c = 0; c < schedule::categories; ++c) s.by[c] = need.bytes[c] / mib;
  s.by_replicas = saved(P::format.data, P::format.moments, 2 * Replicas <= P::micro_batches ? 2 * Replicas : Replicas);
  s.by_bf16 = saved(2, P::format.moments, Replicas);
  s.by_sgd = saved(P::format.data, 0, Replicas);
  return s;
}

template <class P, long Bytes, int Replicas> struct fit {
  static constexpr Shortage s = shortage<P, Replicas>();
  using law = the_plan_fits_its_memory<memory<P, Replicas>.total, Bytes, weights_take<s.by[0]>, gradients_take<s.by[1]>,
                                       optimizer_takes<s.by[2]>, activations_take<s.by[3]>,
                                       twice_the_replicas_save<s.by_replicas>, precision_bf16_saves<s.by_bf16>,
                                       plain_sgd_saves<s.by_sgd>>;
  static_assert(sizeof(law) > 0);
};

}  // namespace plan

/// `static_assert(fits<Train, 2_GiB>);` A plan that does not fit says what takes the memory and what would save some.
/// To ask without being told, compare `memory<Train>.total`.
template <class P, long Bytes, int Replicas = (P::replicas > 0 ? P::replicas : 1)>
inline constexpr bool fits = sizeof(plan::fit<P, Bytes, Replicas>) > 0;

}  // namespace cleave
