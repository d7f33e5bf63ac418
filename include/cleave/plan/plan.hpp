// plan/plan.hpp - a model and how it is trained, as one type: its policies are checked here, once, and become a schedule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../optim/rate.hpp"
#include "../schedule/liveness.hpp"
#include "../schedule/volume.hpp"
#include "average_laws.hpp"
#include "members.hpp"
#include "pipeline.hpp"
#include "sequence_laws.hpp"
#include "unsaid.hpp"
#include "words.hpp"
#include "zero_laws.hpp"

namespace cleave {

/// `struct Train : Plan<Net, Batch<128>, DataParallel<Sync>, ModelParallel<SplitCols>, Precision<bf16>, Momentum> {};`
/// Everything derived from a plan is a compile-time constant: placements, schedule, traffic, memory. The learning rate
/// is a member that may be redefined: `static constexpr Rate rate = Rate::cosine(0.1f, 5000);`. Unsaid it is constant:
/// 0.001 for Adam and AdamW, 0.01 for others.
template <class NetT, class... Policies> struct Plan {
  using Net = NetT;
  template <class Kind, class Otherwise> using policy = plan::find<Kind, Otherwise, Policies...>;
  template <class Kind> static constexpr bool says = plan::said<Kind, Policies...> > 0;
  using number = typename policy<plan::PrecisionKind, Precision<f32>>::number;
  using loss_scale = policy<optim::LossScaleKind, void>;
  static constexpr bool averages = plan::averages<layer::ops_of<Net>>;
  using optimizer =
      typename optim::with_averages<typename optim::with_loss_scale<policy<optim::OptimizerKind, Sgd>, loss_scale>::is,
                                    averages>::is;
  using ops = op::with_scaled_loss<loss_scale, layer::ops_of<Net>>;
  using leaves = layer::leaves<Net>;
  static constexpr Rate rate = Rate::constant(optimizer::default_rate);

  static constexpr int batch = policy<plan::BatchKind, plan::NoBatch>::samples;
  using data_policy = policy<plan::DataKind, plan::NoData>;
  using agreement = std::conditional_t<agree::is_agreement<typename data_policy::agreement>, data_policy, plan::NoData>;
  using agreed = typename agreement::agreed;
  static constexpr int shards_said = policy<plan::ServerKind, plan::NoShards>::count;
  static constexpr int shards = shards_said > 0 ? shards_said : 1;
  /// Gradients or weights are combined by a parameter server; otherwise by collectives.
  static constexpr bool served = agreed::served || shards_said > 0;
  /// Replicas push gradients to a server, whose optimizer updates the weights.
  static constexpr bool pushes_gradients = served && agreed::change == agree::Change::Step;
  static constexpr bool clips = optim::Clips<optimizer>, scales_loss = !std::is_void_v<loss_scale>;
  /// Ranks update weights after the norm over all gradients is known. Where a server updates them, it clips.
  static constexpr bool waits_for_norm = (clips || scales_loss) && !pushes_gradients;
  static constexpr int zero_stage = agreed::zero;

  using compress = policy<plan::CompressKind, plan::NoCompress>;
  using codec = typename compress::codec;
  static constexpr bool compressed = !std::is_void_v<codec>;
  static constexpr bool codec_known = !compressed || std::is_base_of_v<send::Codec, codec>;
  static constexpr bool codec_whole = !compressed || !codec_known || send::Format<codec>;
  static constexpr bool infers = says<plan::PassKind>;
  static constexpr int frozen = policy<plan::FreezeKind, Freeze<0>>::layers;
  static constexpr bool ordered = policy<plan::SumKind, Ordered>::ordered;

  using route_said = typename policy<plan::RouteKind, plan::NoRoute>::route;
  using route_law = typename plan::law_of_sending<route_said>::is;
  static constexpr bool routed = !std::is_void_v<route_said>;
  static constexpr bool route_known = !routed || std::is_base_of_v<send::Route, route_said>;
  using route = std::conditional_t<route_known && route_law::holds, route_said, void>;

  using model_policy = policy<plan::ModelKind, plan::NoModel>;
  using mesh = policy<plan::MeshKind, plan::NoMesh>;
  static constexpr bool data_parallel = says<plan::DataKind> || mesh::replicas > 1;
  /// Number of replicas; 0: set by the run.
  using portions_said = typename agreed::portions;
  static constexpr int replicas_of_portions = plan::replicas_of_portions<portions_said>(batch, agreed::waits);
  static constexpr int replicas = mesh::replicas > 0         ? mesh::replicas
                                  : replicas_of_portions > 0 ? replicas_of_portions
                                  : data_parallel            ? 0
                                                             : 1;
  /// Ranks along each axis of a replica, and all of them.
  using sizes =
      typename plan::sizes_of<mesh, model_policy, says<plan::ModelKind> || plan::some_layer_says(leaves{})>::is;
  static constexpr int ways = sizes::ways;
  static constexpr int unit = plan::ways_that_cut_samples<model_policy, sizes, ops, leaves>();
  static constexpr bool cuts_batch =
      (data_parallel && agreed::waits) || plan::splits_samples<model_policy, sizes, leaves>();
  static constexpr place::AxisSet axes_of_positions = plan::axes_of_positions<model_policy, sizes, leaves>();
  using stage_policy = policy<plan::StageKind, plan::NoStages>;
  static constexpr int stages = stage_policy::stages;
  using order_said = typename stage_policy::order;
  static constexpr bool order_known = plan::OrderOfTasks<order_said>;
  using order = std::conditional_t<order_known, order_said, OneForwardOneBackward>;
  static constexpr int parts_of_round = agreed::parts(replicas) > 1 ? agreed::parts(replicas) : 1;
  static constexpr int rounds =
      says<plan::RoundKind> || stages < 2
          ? policy<plan::RoundKind, plan::NoRounds>::rounds
          : plan::default_rounds(
                says<plan::MicroBatchKind> ? policy<plan::MicroBatchKind, plan::NoCount>::count : batch,
                unit* parts_of_round, stages, order::chunks > 1);
  static constexpr int parts = rounds * parts_of_round;
  static constexpr int micro_batches_said = says<plan::MicroBatchKind>
                                                ? policy<plan::MicroBatchKind, plan::NoCount>::count
                                            : portions_said::groups > 0
                                                ? plan::micro_batches_of_portions<portions_said>(batch)
                                            : cuts_batch || rounds > 1 ? plan::default_micro_batches(batch, parts, unit)
                                                                       : 1;
  static constexpr int micro_batches = micro_batches_said > 0 ? micro_batches_said : 1;
  static constexpr int rows = batch > micro_batches ? batch / micro_batches : 1;  // samples of a micro-batch
  static constexpr long bucket_bytes = policy<plan::BucketKind, plan::NoBuckets>::bytes;
  static constexpr int blocks = policy<plan::BlockKind, plan::NoBlocks>::blocks;  // of a product's sum, at most
  static constexpr int workspaces = plan::said<plan::WorkspaceKind, Policies...>;
  static constexpr long workspace_bytes = policy<plan::WorkspaceKind, plan::UsualWorkspace>::bytes;

  // The laws, in order. Only the first violation is reported, together with the policy or layer that causes it. Nothing
  // after it is computed, and code that takes a plan ignores plans that are not `legal`.
  static constexpr plan::Culprit other_axes = plan::split_for_other_axes<Net, sizes::axes>(leaves{});
  using split_for_other_axes = plan::leaf<Net, other_axes.at>;
  using word_law = meta::first_broken<
      plan::law_of_words<Net, Policies...>, plan::law_of_layers<Net>,
      meta::enforce<plan::the_batch_is_said<batch>, Net>, meta::enforce<plan::training_needs_a_floating_number<number>>,
      meta::enforce<plan::the_agreement_is_known<typename data_policy::agreement>>,
      meta::enforce<agree::law_of<typename agreement::agreement, typename agreement::options>>,
      meta::enforce<plan::shards_are_counted_from_one<shards_said, plan::said<plan::ServerKind, Policies...>>>,
      meta::enforce<plan::gradients_are_clipped_where_they_are_summed<clips, !pushes_gradients || agreed::waits>,
                    optimizer>,
      meta::enforce<plan::one_shard_clips<clips, pushes_gradients, shards>, optimizer>,
      meta::enforce<plan::gradients_are_clipped_to_something<plan::clips_above_zero<optimizer>()>, optimizer>,
      meta::enforce<plan::a_loss_scale_is_a_power_of_two<plan::scale_of<loss_scale>()>, loss_scale>,
      meta::enforce<plan::a_scaled_loss_keeps_no_state<scales_loss, plan::learns_in_the_loss<layer::ops_of<Net>>>,
                    loss_scale>,
      meta::enforce<
          plan::what_is_scaled_is_unscaled<scales_loss, compressed && compress::feedback, says<plan::InputKind>>,
          loss_scale>,
      meta::enforce<plan::gradients_are_unscaled_where_they_are_summed<scales_loss, !served>, loss_scale>,
      meta::enforce<plan::statistics_are_of_micro_batches_that_are_said<
          averages, infers || says<plan::MicroBatchKind> || micro_batches_said == 1>>,
      meta::enforce<plan::running_means_are_not_compressed<averages, compressed>, compress>,
      meta::enforce<plan::running_means_are_of_one_step<averages, pushes_gradients && (agreed::pace.push > 1 ||
                                                                                       agreed::pace.fetch > 1)>,
                    agreement>,
      meta::enforce<plan::running_means_are_not_weighted<
                        averages, pushes_gradients && !agreed::waits &&
                                      (plan::weights_by_age<typename agreed::stale>() || agreed::portions::groups > 0)>,
                    agreement>,
      meta::enforce<plan::variances_fit_their_format<averages, std::is_same_v<number, f16>>, number>,
      meta::enforce<plan::what_infers_pushes_nothing<infers, served>>,
      meta::enforce<plan::frozen_layers_have_no_gradients<frozen != 0, served, says<plan::InputKind>>>,
      meta::enforce<plan::zero_is_of_collectives<zero_stage != 0, served>>,
      meta::enforce<plan::zero_sends_sums<zero_stage != 0, compressed || says<plan::RouteKind>>>,
      meta::enforce<plan::gradients_in_turn_are_there_once<zero_stage, stages>>,
      meta::enforce<plan::replicas_share_each_round<(zero_stage > 1 && rounds > 1), (portions_said::groups > 0)>>,
      meta::enforce<plan::weights_in_turn_learn<zero_stage, says<plan::FreezeKind>>>,
      meta::enforce<plan::the_order_is_known<order_said, order_known>, stage_policy>,
      meta::enforce<plan::stages_are_not_ways<stage_policy::ways>, stage_policy>,
      meta::enforce<plan::every_part_of_a_pipeline_has_a_layer<stages, order::chunks, layer::leaves<Net>::size>,
                    stage_policy>,
      meta::enforce<plan::first_layers_are_one_of_each_part<plan::firsts_are_good<typename stage_policy::first>(
                                                                stages* order::chunks, layer::leaves<Net>::size),
                                                            stage_policy::first::count, stages * order::chunks>,
                    stage_policy>,
      meta::enforce<plan::stages_are_of_collectives<(stages > 1), served>>,
      meta::enforce<
          plan::stages_sum_plain_gradients<(stages > 1), compressed || routed || infers || says<plan::InputKind>>>,
      meta::enforce<plan::interleaved_rounds_are_whole_groups<rounds, stages, (stages > 1 && order::chunks > 1)>>,
      meta::enforce<plan::compress_names_a_codec<codec, codec_known>>,
      meta::enforce<plan::a_format_has_its_members<codec, codec_whole>>,
      meta::enforce<typename plan::law_of_sending<codec>::is, compress>,
      meta::enforce<plan::only_gradients_are_compressed<compressed, agreed::change>, agreement>,
      meta::enforce<plan::compressed_sums_depend_on_the_replicas<compressed, ordered, agreed::waits>, compress>,
      meta::enforce<plan::reduce_by_names_a_route<route_said, route_known>>, meta::enforce<route_law, route_said>,
      meta::enforce<plan::compressed_gradients_have_a_route_of_their_own<routed, compressed>, compress>,
      meta::enforce<plan::sizes_are_positive<model_policy::ways, mesh::ways, mesh::replicas,
                                             plan::said<plan::MeshKind, Policies...>>,
                    mesh, model_policy>,
      meta::enforce<plan::the_ways_agree<typename model_policy::sizes, typename mesh::sizes>, mesh, model_policy>,
      meta::enforce<plan::a_replica_has_few_axes<sizes::axes>, mesh, model_policy>,
      meta::enforce<plan::splits_are_of_one_axis<plan::names_splits<model_policy>()>, model_policy>,
      meta::enforce<plan::splits_are_of_one_axis<plan::names_splits<plan::leaf_policy<split_for_other_axes>>()>,
                    split_for_other_axes>,
      meta::enforce<plan::each_axis_has_its_split<plan::axes_named<model_policy>(), sizes::axes>, model_policy>,
      meta::enforce<
          plan::each_axis_has_its_split<plan::axes_named<plan::leaf_policy<split_for_other_axes>>(), sizes::axes>,
          split_for_other_axes>,
      meta::enforce<plan::what_chooses_splits_has_one_axis<model_policy::products == '?', sizes::axes>, model_policy>,
      meta::enforce<plan::routes_are_for_collectives<routed, cuts_batch && !served>, route>,
      meta::enforce<plan::what_is_compressed_is_sent<compressed, cuts_batch || served>, compress>,
      meta::enforce<plan::micro_batches_divide_the_batch<batch, micro_batches_said>,
                    plan::advised<batch, micro_batches_said>>,
      meta::enforce<plan::portions_are_whole<portions_said, rounds, rows>>,
      meta::enforce<plan::portions_are_the_batch<portions_said, batch, agreed::waits ? replicas : 0>>,
      meta::enforce<plan::replicas_have_a_micro_batch_each<agreed::parts(replicas), micro_batches>,
                    plan::advised<batch, parts, unit>>,
      meta::enforce<plan::every_round_has_a_micro_batch<rounds, agreed::parts(replicas), micro_batches>,
                    plan::advised<batch, parts, unit>>,
      meta::enforce<plan::buckets_hold_something<bucket_bytes, plan::said<plan::BucketKind, Policies...>>>,
      meta::enforce<
          plan::workspace_is_more_than_there_always_is<workspace_bytes, cleave::schedule::workspace_bytes, workspaces>>,
      meta::enforce<plan::workspace_is_for_libraries<ordered, workspaces>>,
      meta::enforce<plan::there_are_2_to_64_blocks<blocks, plan::said<plan::BlockKind, Policies...>>>,
      meta::enforce<plan::blocks_are_in_order<says<plan::BlockKind>, ordered>>,
      meta::enforce<plan::blocks_are_summed_behind_products<says<plan::BlockKind>, says<plan::ConversionKind>>>,
      meta::enforce<
          plan::positions_are_cut_between_split_products<says<plan::SequenceKind>, sizes::axes == 1,
                                                         (ways > 1 && plan::splits_products<model_policy, leaves>() &&
                                                          !plan::splits_samples<model_policy, sizes, leaves>())>,
          SequenceParallel>,
      meta::enforce<plan::positions_are_cut_along_the_last_axis<
                        axes_of_positions.any(), axes_of_positions == place::AxisSet{sizes::axes},
                        plan::splits_samples<model_policy, sizes, leaves>() || says<plan::SequenceKind>>,
                    model_policy>,
      meta::enforce<plan::positions_are_cut_by_the_algebra<says<plan::SequenceKind> || axes_of_positions.any(),
                                                           says<plan::BlockKind>, says<plan::ConversionKind>,
                                                           compressed || says<plan::RouteKind>>>,
      meta::enforce<plan::blocks_are_of_f32_or_f64<says<plan::BlockKind>,
                                                   std::is_same_v<number, f32> || std::is_same_v<number, f64>>,
                    number>>;

  static constexpr cleave::schedule::Pipeline pipeline = plan::pipeline_of<stage_policy, meta::holds<word_law>>(rounds);
  static constexpr auto pipeline_tables = cleave::schedule::PipelineTables<pipeline>::template of<order>();
  static constexpr cleave::schedule::PipelineVerdict pipeline_verdict =
      cleave::schedule::pipeline_verdict(pipeline_tables.tasks, pipeline, order::transfers);
  using pipeline_law =
      meta::first_broken<word_law, meta::enforce<plan::the_pipeline_ends<pipeline_verdict.fault, pipeline_verdict.stage,
                                                                         pipeline_verdict.task, pipeline_verdict.peer>,
                                                 stage_policy>>;

  static constexpr place::Request request{sizes::template mesh<pipeline.stages>(),
                                          rows,
                                          micro_batches,
                                          says<plan::ConversionKind>,
                                          says<plan::InputKind>,
                                          rounds,
                                          !served,
                                          (bucket_bytes + long{sizeof(number)} - 1) / long{sizeof(number)},
                                          plan::portions<portions_said>(rows),
                                          waits_for_norm,
                                          infers,
                                          frozen,
                                          zero_stage > 2 && !infers,
                                          zero_stage > 1 && !infers,
                                          compressed,
                                          blocks,
                                          plan::axes_with_positions(axes_of_positions, says<plan::SequenceKind>),
                                          false,
                                          zero_stage > 1 && rounds > 1 && !infers};
  static constexpr auto signatures = plan::signatures<Net, ops, meta::holds<pipeline_law>>();
  static constexpr plan::Culprit no_product = plan::no_product(signatures, leaves{});
  static constexpr bool factors = plan::always_factors(signatures);
  static constexpr plan::Tokens tokens = plan::tokens(signatures);
  using reader = plan::leaf<Net, tokens.leaf>;
  using model_law = meta::first_broken<
      pipeline_law,
      plan::law_of_verdict<Net, signatures.verdict.law, signatures.verdict.a, signatures.verdict.b,
                           signatures.verdict.leaf>,
      meta::enforce<
          plan::freeze_leaves_weights_to_learn<frozen, says<plan::FreezeKind>, plan::learns_above(signatures, frozen)>,
          Freeze<frozen>>,
      meta::enforce<plan::zero_sums_whole_gradients<zero_stage != 0, plan::sends_parts_of_gradients(signatures)>,
                    plan::leaf<Net, plan::part_sender(signatures)>>,
      meta::enforce<plan::groups_have_factors_from_zero<plan::factors_from_zero<optimizer>(signatures)>, optimizer>,
      meta::enforce<plan::factors_are_of_products<no_product.none>, plan::leaf<Net, no_product.at>>,
      meta::enforce<plan::factors_are_there_at_once<factors, rounds>, plan::leaf<Net, plan::factored(signatures)>>,
      meta::enforce<plan::factors_go_between_ranks<factors && !infers, cuts_batch && !served>,
                    plan::leaf<Net, plan::factored(signatures)>>,
      meta::enforce<plan::tokens_come_from_the_data<tokens.first>, reader>,
      meta::enforce<plan::tokens_are_whole_as_they_are_read<tokens.vocabulary>, reader>,
      meta::enforce<plan::tokens_are_for_embeddings<tokens.alone>, reader>,
      meta::enforce<plan::numbers_have_the_digits_of_tokens<plan::reads_whole_numbers(signatures), sizeof(number)>,
                    number>>;

  static constexpr auto splits =
      plan::splits<Net, model_policy, meta::holds<model_law>, signatures, request, int{sizeof(number)}>();
  static constexpr auto shardings =
      plan::shardings<Net, model_policy, typename stage_policy::first, meta::holds<model_law>>(
          signatures, splits, request, pipeline.parts(), pipeline.stages);
  static constexpr int misplaced =
      meta::holds<model_law> ? place::first_misplaced(signatures, shardings, pipeline.stages) : -1;
  static constexpr bool keeps_pins = misplaced < 0;
  static constexpr int pinned = keeps_pins ? 0 : misplaced;
  static constexpr auto placed = plan::placed<meta::holds<model_law>>(signatures, shardings, request);
  static constexpr place::Verdict verdict = placed.verdict;
  using place_law =
      meta::first_broken<model_law,
                         meta::enforce<plan::pinned_layers_are_on_their_stage<signatures.op[pinned].wish.stage,
                                                                              pipeline.stages, keeps_pins>,
                                       plan::leaf<Net, signatures.op[pinned].leaf>>,
                         plan::law_of_verdict<Net, verdict.law, verdict.a, verdict.b, verdict.leaf>>;

  // The passes, each a constant of its own; of a plan that breaks a law they have no node.
  static constexpr cleave::schedule::PlacedModel placed_model{signatures, placed, request,
                                                              meta::holds<place_law> ? placed.count : 0};
  static constexpr auto forward_pass = cleave::schedule::forward(placed_model);
  static constexpr auto adjoints = cleave::schedule::differentiate(placed_model);
  static constexpr auto fused = cleave::schedule::fuse(placed_model, forward_pass, adjoints);
  static constexpr auto bucket_table = cleave::schedule::bucket(placed_model);
  static constexpr auto recomputed = cleave::schedule::recompute(placed_model, adjoints, fused);
  static constexpr auto buffer_table =
      cleave::schedule::assign_buffers(placed_model, forward_pass, adjoints, fused, recomputed);
  static constexpr auto step_table =
      cleave::schedule::steps(placed_model, forward_pass, adjoints, fused, recomputed, bucket_table, buffer_table);
  static constexpr cleave::schedule::Schedule schedule = cleave::schedule::view(
      placed_model, fused, recomputed, bucket_table, buffer_table, step_table, pipeline_tables.view(order::name));
  static constexpr auto lives = cleave::schedule::liveness(placed_model, schedule);
  static constexpr cleave::schedule::Format format{
      sizeof(number),
      sizeof(tensor::accumulate_t<number>),
      sizeof(tensor::batch_sum_t<number>),
      pushes_gradients || infers ? 0 : optimizer::moments,
      ordered,
      !served                                 ? 0
      : agreed::change == agree::Change::Step ? sizeof(number)
                                              : sizeof(tensor::accumulate_t<number>),
      shards,
      pushes_gradients,
      plan::encoding<std::conditional_t<codec_known && codec_whole, codec, void>>(compress::feedback),
      plan::path<route>(),
      workspace_bytes,
      served || infers ? 0 : zero_stage,
      request.sums_rounds && !ordered};
  static constexpr bool in_order =
      !ordered || (plan::in_the_tree<route>(schedule, micro_batches, request.mesh.with_replicas(replicas)) &&
                   (!routed || portions_said::groups == 0));
  using law = meta::first_broken<
      place_law,
      meta::enforce<plan::compressed_zeros_stay_zeros<plan::keeps_zeros<codec>(),
                                                      placed.has_unequal_parts(signatures, request.mesh)>,
                    compress>,
      meta::enforce<plan::the_route_keeps_the_order<route, in_order>>,
      meta::enforce<plan::nodes_are_full<route, plan::unfit<route>(replicas)>>>;
  static_assert(sizeof(law) > 0);
  static constexpr bool legal = meta::holds<law>;

  static constexpr bool has_its_own_numbers(void const* b, void const* m, void const* k, void const* r, void const* w) {
    return b == &batch && m == &micro_batches && k == &rounds && r == &replicas && w == &ways;
  }
  static constexpr cleave::schedule::Share share(cleave::schedule::Ranks ranks) {
    return cleave::schedule::shared(request, ranks);
  }
  /// The samples that one group of summing ranks shares: the whole batch, or one replica's part if replicas are
  /// combined by a server.
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
  static constexpr cleave::schedule::Ranks ranks_of(int replicas_) {
    return request.mesh.with_replicas(served ? 1 : replicas_);
  }
};

namespace plan {

// For a plan that is not legal these are empty: its violation has been reported already.
template <class P> constexpr int replicas_or(int otherwise) {
  if constexpr (legal<P>) return P::replicas > 0 ? P::replicas : otherwise;
  return otherwise;
}
template <class P, int Replicas, int Stage> constexpr schedule::Memory memory_of_stage() {
  if constexpr (legal<P>)
    return schedule::layout(P::schedule, P::lives, P::request_of(Replicas), P::format, P::ranks_of(Replicas), Stage)
        .memory;
  return {};
}
template <class P, int Replicas, int... Stages>
constexpr schedule::Memory largest_memory(std::integer_sequence<int, Stages...>) {
  schedule::Memory most;
  for (schedule::Memory const& m : {memory_of_stage<P, Replicas, Stages>()...}) most = m.total > most.total ? m : most;
  return most;
}
template <class P, int Replicas> constexpr schedule::Memory memory_of() {
  if constexpr (legal<P>) return largest_memory<P, Replicas>(std::make_integer_sequence<int, P::pipeline.stages>{});
  return {};
}
template <class P, int Replicas, int Rank> constexpr schedule::Traffic traffic_of() {
  if constexpr (legal<P>)
    return schedule::traffic(schedule::program<P>, P::request_of(Replicas), P::ranks_of(Replicas),
                             P::served ? Rank % P::ways : Rank);
  return {};
}
template <class P, int Replicas> constexpr schedule::Volumes volumes_of() {
  if constexpr (legal<P>)
    return schedule::volumes(schedule::program<P>, P::request_of(Replicas), P::ranks_of(Replicas));
  return {};
}

}  // namespace plan

/// Exact bytes of one rank's arena, by category, for a number of replicas (default: the plan's, else 1). Of a pipeline:
/// of the stage whose ranks need most; `memory_of_stage` of any.
template <class P, int Replicas = plan::replicas_or<P>(1)>
inline constexpr schedule::Memory memory = plan::memory_of<P, Replicas>();
template <class P, int Stage, int Replicas = plan::replicas_or<P>(1)>
inline constexpr schedule::Memory memory_of_stage = plan::memory_of_stage<P, Replicas, Stage>();

/// What one rank (default: the first) sends in one training step: elements, bytes, messages (default: 2 replicas).
template <class P, int Replicas = plan::replicas_or<P>(2), int Rank = 0>
inline constexpr schedule::Traffic traffic = plan::traffic_of<P, Replicas, Rank>();

/// What a group of summing ranks sends in one training step: the rank that sends most, and the sum over all ranks.
template <class P, int Replicas = plan::replicas_or<P>(2)>
inline constexpr schedule::Volumes volumes = plan::volumes_of<P, Replicas>();

namespace plan {

/// The memory that a plan needs, and what alternatives would save, in MiB.
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
    long most = 0;
    for (int stage = 0; stage < P::pipeline.stages; ++stage) {
      long const of = schedule::layout(P::schedule, P::lives, P::request_of(replicas), f, P::ranks_of(replicas), stage)
                          .memory.total;
      most = of > most ? of : most;
    }
    return (need.total - most) / mib;
  };
  Shortage s;
  s.needed = need.total / mib;
  for (int c = 0; c < schedule::categories; ++c) s.by[c] = need.bytes[c] / mib;
  s.by_replicas = saved(P::format.data, P::format.moments, 2 * Replicas <= P::micro_batches ? 2 * Replicas : Replicas);
  s.by_bf16 = saved(2, P::format.moments, Replicas);
  s.by_sgd = saved(P::format.data, 0, Replicas);
  return s;
}

/// Of a plan that is not legal, whose violation has been reported; or of a Predictor, which says its bytes.
template <class P, long Bytes, int Replicas> struct fit {
  static constexpr bool is_plan = requires { typename P::law; }
  || requires { P::bytes; };
  static_assert(is_plan, "fits<Plan, bytes>: the first is no plan, and no Predictor");
};
template <class P, long Bytes, int Replicas>
requires requires { P::bytes; }
struct fit<P, Bytes, Replicas> {
  static_assert(sizeof(the_plan_fits_its_memory<P::bytes, Bytes>) > 0);
};
template <class P, long Bytes, int Replicas>
requires legal<P>
struct fit<P, Bytes, Replicas> {
  static constexpr Shortage s = shortage<P, Replicas>();
  using law = the_plan_fits_its_memory<memory<P, Replicas>.total, Bytes, weights_take<s.by[0]>, gradients_take<s.by[1]>,
                                       optimizer_takes<s.by[2]>, activations_take<s.by[3]>,
                                       twice_the_replicas_save<s.by_replicas>, precision_bf16_saves<s.by_bf16>,
                                       plain_sgd_saves<s.by_sgd>>;
  static_assert(sizeof(law) > 0);
};

}  // namespace plan

/// `static_assert(fits<Train, 2_GiB>);` of a plan, or of a Predictor without further threads. If the plan does not fit,
/// the error lists what takes the memory and what would save some. For a check without an error compare
/// `memory<Train>.total`.
template <class P, long Bytes, int Replicas = plan::replicas_or<P>(1)>
inline constexpr bool fits = sizeof(plan::fit<P, Bytes, Replicas>) > 0;

}  // namespace cleave
