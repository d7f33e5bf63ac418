// plan/laws.hpp - laws of a plan's policies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../agree/agreement.hpp"
#include "../meta/law.hpp"
#include "../optim/optimizer.hpp"
#include "../place/axis_set.hpp"
#include "../place/portions.hpp"
#include "../tensor/number.hpp"

namespace cleave::plan {

template <int Said> struct each_kind_of_policy_is_said_once {
  static constexpr bool holds = Said <= 1;
  template <bool Holds> struct tell { static_assert(Holds, "Plan: two policies of one kind; say each thing once"); };
};
template <bool Known> struct every_word_is_a_policy {
  static constexpr bool holds = Known;
  template <bool Holds> struct tell {
    static_assert(
        Holds, "Plan: this is no policy of a plan (Batch, DataParallel, ModelParallel, Precision, an optimizer, ...)");
  };
};
template <bool Known> struct every_word_is_an_option_or_a_split {
  static constexpr bool holds = Known;
  template <bool Holds> struct tell {
    static_assert(Holds, "a layer takes options of its own (Pad, NoBias, ...) and ModelParallel; this is neither");
  };
};
template <bool None> struct a_layer_has_the_ways_of_the_plan {
  static constexpr bool holds = None;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "a layer has the ways of the plan: in its ModelParallel<split> and OneWeirdTrick<> leave the number out");
  };
};
template <int Samples> struct the_batch_is_said {
  static constexpr bool holds = Samples > 0;
  template <bool Holds> struct tell {
    static_assert(Holds, "Plan: say Batch<samples>, the samples of one step over all replicas; at least 1");
  };
};
template <int Samples, int Count> struct micro_batches_divide_the_batch {
  static constexpr bool holds = Count > 0 && Samples % Count == 0;
  template <bool Holds> struct tell {
    static_assert(Holds, "MicroBatches: the batch must divide evenly into its micro-batches");
  };
};
template <class Portions, int Rounds, int SamplesEach> struct portions_are_whole {
  static constexpr bool holds = [](int each) {
    if (Portions::groups > place::Portions::most) return false;
    for (int g = 0; g < Portions::groups; ++g) {
      if (Portions::samples[g] < 1 || Portions::samples[g] < Rounds * each || Portions::samples[g] % each != 0) {
        return false;
      }
    }
    return true;
  }(SamplesEach);
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "PerReplica: for each of 1 to 8 groups a number of samples from 1, a multiple of those of a "
                  "micro-batch, and one for every round; say MicroBatches<n> with more, or leave it out");
  };
};
template <class Portions, int Batch, int Replicas> struct portions_are_the_batch {
  static constexpr int groups =
      Portions::groups > 0 ? Portions::groups : 1;  // nvcc warns of divisions that never happen
  static constexpr bool fills = Replicas > 0 ? Replicas % groups == 0 && Replicas / groups* Portions::sum == Batch
                                             : Portions::sum == Batch* groups;
  static constexpr bool holds = Portions::groups == 0 || fills;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "PerReplica: under Sync the samples of all replicas are the Batch; where replicas do not wait, the "
                  "mean over the groups is");
  };
};
template <int Replicas, int Count> struct replicas_have_a_micro_batch_each {
  static constexpr bool holds = Replicas <= Count;
  template <bool Holds> struct tell {
    static_assert(Holds, "Mesh: more replicas than micro-batches; say MicroBatches<n> with at least one for each");
  };
};
template <int Rounds, int Replicas, int Count> struct every_round_has_a_micro_batch {
  static constexpr bool holds = Rounds == 1 || (Rounds > 1 && Rounds * (Replicas > 1 ? Replicas : 1) <= Count);
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Accumulate: every replica needs a micro-batch in each of its rounds, of which there is at "
                  "least 1; say fewer rounds or MicroBatches<n> with more");
  };
};
template <class Number> struct training_needs_a_floating_number {
  static constexpr bool holds = tensor::trains<Number>;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "Precision: training needs f32, f64, bf16, f16, tf32 or fp8, which takes e4m3 and e5m2 where each belongs; "
        "8-bit integers are for a trained model");
  };
};
template <class Agreement> struct the_agreement_is_known {
  static constexpr bool holds = agree::is_agreement<Agreement>;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "DataParallel: unknown agreement; there are Sync, Async, StaleSynchronous<n>, Downpour<fetch, push>, "
                  "LocalSGD<n>, DiLoCo<n>, ElasticAveraging<n, percent>");
  };
};
template <int Count, int Said> struct shards_are_counted_from_one {
  static constexpr bool holds = Said == 0 || Count > 0;
  template <bool Holds> struct tell { static_assert(Holds, "Shards<n>: a parameter server is cut into n >= 1 parts"); };
};
template <class Plans, class Meshs> struct the_ways_agree {
  static constexpr bool holds = Plans::ways == 0 || Meshs::ways == 0 || std::is_same_v<Plans, Meshs>;
  template <bool Holds> struct tell {
    static_assert(Holds, "Mesh and ModelParallel name different ways; say the number once");
  };
};
template <int Axes> struct a_replica_has_few_axes {
  static constexpr bool holds = Axes < place::most_axes;
  template <bool Holds> struct tell {
    static_assert(Holds, "Ways<a, b, ...>: the ranks of a replica are an array of at most three axes");
  };
};
template <bool Are> struct splits_are_of_one_axis {
  static constexpr bool holds = Are;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "SplitAlong<...>: each is SplitCols, SplitRows, SplitColsRows, SplitRowsCols, SplitBatch, SplitGroups "
        "or Whole");
  };
};
template <int Splits, int Axes> struct each_axis_has_its_split {
  static constexpr bool holds = Splits == 1 || Splits == Axes;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SplitAlong<...> has a split for each axis of the ranks: as many as numbers in the plan's "
                  "Ways<a, b, ...> or Mesh, Whole where there is none");
  };
};
template <bool Chooses, int Axes> struct what_chooses_splits_has_one_axis {
  static constexpr bool holds = !Chooses || Axes == 1;
  template <bool Holds> struct tell {
    static_assert(Holds, "SplitFor<Machine> chooses over one axis; say Ways<n>, or the splits, SplitAlong<...>");
  };
};
template <int Ways, int MeshWays, int Replicas, int MeshSaid> struct sizes_are_positive {
  static constexpr bool holds = Ways >= 0 && (MeshSaid == 0 || (MeshWays >= 1 && Replicas >= 1));
  template <bool Holds> struct tell { static_assert(Holds, "Mesh: ways and replicas are whole numbers from 1"); };
};
template <class Format, bool Known> struct compress_names_a_codec {
  static constexpr bool holds = Known;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Compress: no format of gradients; there are bf16, Int8, OneBit, TopK<per mille>, or your own");
  };
};
template <class Format, bool Whole> struct a_format_has_its_members {
  static constexpr bool holds = Whole;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "Compress: a format has a name, bytes(n), encode(n, gradient, out) and decode<A>(n, in, to), all static "
        "(send/codec.hpp); one of them is missing, or takes other things");
  };
};
template <bool Compressed, bool Sends> struct what_is_compressed_is_sent {
  static constexpr bool holds = !Compressed || Sends;
  template <bool Holds> struct tell {
    static_assert(Holds, "Compress: this plan sends no gradients; say DataParallel, or leave Compress out");
  };
};
template <bool Compressed, agree::Change How> struct only_gradients_are_compressed {
  static constexpr bool holds = !Compressed || How == agree::Change::Step;
  template <bool Holds> struct tell {
    static_assert(Holds, "Compress: LocalSGD and ElasticAveraging push weights, and only gradients are compressed");
  };
};
template <bool Compressed, bool OrderedSums, bool Waits> struct compressed_sums_depend_on_the_replicas {
  static constexpr bool holds = !Compressed || !OrderedSums || !Waits;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Compress: what is lost depends on which rank summed what, so no sum has the bits of another number "
                  "of replicas, which Ordered promises; say Fastest");
  };
};
template <class Route, bool Known> struct reduce_by_names_a_route {
  static constexpr bool holds = Known;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "ReduceBy: no route; there are Ring, Tree, HalvingDoubling, Hierarchical<replicas per node>, Auto, or "
        "your own");
  };
};
template <bool Routed, bool ByCollectives> struct routes_are_for_collectives {
  static constexpr bool holds = !Routed || ByCollectives;
  template <bool Holds> struct tell {
    static_assert(Holds, "ReduceBy: ranks of this plan sum no gradients with each other; say DataParallel<Sync>");
  };
};
template <bool KeepsZeros, bool Unequal> struct compressed_zeros_stay_zeros {
  static constexpr bool holds = KeepsZeros || !Unequal;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Compress: ways that do not divide a layer have zeros behind the smaller parts, and this format does "
                  "not say that it keeps them (`keeps_zeros`); say Ways that divide, or Int8, TopK or bf16");
  };
};
template <bool Routed, bool Compressed> struct compressed_gradients_have_a_route_of_their_own {
  static constexpr bool holds = !Routed || !Compressed;
  template <bool Holds> struct tell {
    static_assert(Holds, "Compress and ReduceBy: compressed gradients have a route of their own; say one of the two");
  };
};
template <class Route, bool InTheTree> struct the_route_keeps_the_order {
  static constexpr bool holds = InTheTree;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "ReduceBy: this route adds up in an order of its own, where Ordered promises one; say Fastest, or Tree "
        "or HalvingDoubling with Mesh<Data<n>> and a power of two micro-batches for each rank");
  };
};
template <class Route, int Ranks> struct nodes_are_full {
  static constexpr bool holds = Ranks == 0;
  template <bool Holds> struct tell {
    static_assert(Holds, "ReduceBy<Hierarchical<n>>: the mesh's replicas must divide evenly into nodes of n");
  };
};
template <bool Product> struct factors_are_of_products {
  static constexpr bool holds = Product;
  template <bool Holds> struct tell {
    static_assert(Holds, "SendFactors, SendCheapest: only the gradient of a Linear is a product of two small factors");
  };
};
template <bool Factors, int Rounds> struct factors_are_there_at_once {
  static constexpr bool holds = !Factors || Rounds == 1;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SendFactors: in rounds, those of earlier rounds are gone; leave Accumulate out, or SendFactors");
  };
};
template <bool Factors, bool ByCollectives> struct factors_go_between_ranks {
  static constexpr bool holds = !Factors || ByCollectives;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SendFactors: ranks of this plan sum no gradients with each other; say DataParallel<Sync>, or "
                  "SendCheapest");
  };
};
template <long Bytes, int Said> struct buckets_hold_something {
  static constexpr bool holds = Said == 0 || Bytes > 0;
  template <bool Holds> struct tell {
    static_assert(Holds, "Buckets<n>: a message of gradients grows to n bytes, at least 1");
  };
};
template <long Bytes, long Always, int Said> struct workspace_is_more_than_there_always_is {
  static constexpr bool holds = Said == 0 || Bytes > Always;
  template <bool Holds> struct tell {
    static_assert(Holds, "Workspace<n>: n bytes for libraries, more than the MiB that there always is");
  };
};
template <bool Ordered, int Said> struct workspace_is_for_libraries {
  static constexpr bool holds = Said == 0 || !Ordered;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Workspace: only libraries use more than the MiB that there always is, and Ordered plans ask none; "
                  "say Fastest, or leave Workspace out");
  };
};
template <int Blocks, int Said> struct there_are_2_to_64_blocks {
  static constexpr bool holds = Said == 0 || (Blocks >= 2 && Blocks <= 64);
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Blocks<n>: a product's sums are cut into 2 to 64 blocks; for the same bits on any ranks, as many as "
                  "the most ways of a plan");
  };
};
template <bool InBlocks, bool Ordered> struct blocks_are_in_order {
  static constexpr bool holds = !InBlocks || Ordered;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Blocks: they are for the same bits on any ranks, which Fastest gives up; leave one of them out");
  };
};
template <bool InBlocks, bool Written> struct blocks_are_summed_behind_products {
  static constexpr bool holds = !InBlocks || !Written;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Blocks: partial sums are summed over the ranks right behind their product, as on one rank; leave "
                  "Conversions<Written> out");
  };
};
template <bool InBlocks, bool Wide> struct blocks_are_of_f32_or_f64 {
  static constexpr bool holds = !InBlocks || Wide;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "Blocks: parts of a product's sum would be rounded as they are sent in a narrow format, and not on one "
        "rank; say Precision<f32> or <f64>, or leave Blocks out");
  };
};
template <int Vocabulary> struct tokens_are_whole_as_they_are_read {
  static constexpr bool holds = Vocabulary <= 1 << 24;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Embedding: data give token numbers as float, which are whole up to 16,777,216; say a smaller "
                  "vocabulary");
  };
};
template <bool Numbers, int Bytes> struct numbers_have_the_digits_of_tokens {
  static constexpr bool holds = !Numbers || Bytes >= 4;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Embedding<n, f, OfNumbers>: this number format has too few digits for token numbers; say "
                  "Precision<f32>");
  };
};
template <bool Alone> struct tokens_are_for_embeddings {
  static constexpr bool holds = Alone;
  template <bool Holds> struct tell {
    static_assert(Holds, "Embedding: its model's input is token numbers, and another layer computes with them");
  };
};
template <bool First> struct tokens_come_from_the_data {
  static constexpr bool holds = First;
  template <bool Holds> struct tell {
    static_assert(Holds, "Embedding: it reads token numbers, which no layer makes; it stands first in a model");
  };
};
template <bool Clipped, bool InOnePlace> struct gradients_are_clipped_where_they_are_summed {
  static constexpr bool holds = !Clipped || InOnePlace;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "clip_norm: the norm is over all gradients of a step, which no shard of a server has that replicas do "
        "not wait for; say DataParallel<Sync>, LocalSGD or ElasticAveraging, or an optimizer without "
        "clip_norm");
  };
};
template <bool Clipped, bool Pushed, int Count> struct one_shard_clips {
  static constexpr bool holds = !Clipped || !Pushed || Count <= 1;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "clip_norm: the norm is over all gradients of a step, which no one of several shards has; say "
                  "Shards<1>, or an optimizer without clip_norm");
  };
};
template <class Optimizer> constexpr bool clips_above_zero() {
  if constexpr (optim::Clips<Optimizer>) {
    return Optimizer::clip_norm > 0;
  } else {
    return true;
  }
}
template <bool Above> struct gradients_are_clipped_to_something {
  static constexpr bool holds = Above;
  template <bool Holds> struct tell { static_assert(Holds, "clip_norm: gradients are clipped to a norm above 0"); };
};
struct LossScaling {
  long initial = 1, interval = 1;
};
template <class LossScale> constexpr LossScaling scale_of() {
  if constexpr (std::is_void_v<LossScale>) {
    return {};
  } else {
    return {LossScale::initial, LossScale::interval};
  }
}
template <LossScaling Of> struct a_loss_scale_is_a_power_of_two {
  static constexpr bool holds = Of.initial >= 1 && Of.initial <= 1L << 60 && (Of.initial & (Of.initial - 1)) == 0 &&
                                Of.interval >= 1 && Of.interval <= 1 << 24;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "LossScale<initial, interval>: the factor is a power of two from 1 to 2^60, so that no bit is lost, "
                  "and doubles after 1 to 2^24 steps");
  };
};
/// Whether the last operation has weights or a state.
template <class Ops> inline constexpr bool learns_in_the_loss = false;
template <class Op, class... Ops>
inline constexpr bool learns_in_the_loss<meta::list<Op, Ops...>> = [] {
  using Last = meta::at<meta::list<Op, Ops...>, sizeof...(Ops)>;
  return Last::is_loss && Last::states + Last::weights > 0;
}();
template <bool Scales, bool Keeps> struct a_scaled_loss_keeps_no_state {
  static constexpr bool holds = !Scales || !Keeps;
  template <bool Holds> struct tell {
    static_assert(Holds, "LossScale: the state of the loss is the factor; this loss keeps another, or has weights");
  };
};
template <bool Scales, bool Feedback, bool InputGradient> struct what_is_scaled_is_unscaled {
  static constexpr bool holds = !Scales || (!Feedback && !InputGradient);
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "LossScale: only gradients of weights are divided by the factor, not residuals and the gradient of "
                  "the input; say Compress<..., NoFeedback>, and leave InputGradient out");
  };
};
template <bool Scales, bool ByCollectives> struct gradients_are_unscaled_where_they_are_summed {
  static constexpr bool holds = !Scales || ByCollectives;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "LossScale: whether all gradients of a step are finite is known where they are summed by collectives; "
        "say DataParallel<Sync> without Spares and Shards, or leave LossScale out");
  };
};
template <bool Infers, bool Served> struct what_infers_pushes_nothing {
  static constexpr bool holds = !Infers || !Served;
  template <bool Holds> struct tell {
    static_assert(Holds, "Inference: a trained model has no gradients for a server; leave the agreement out");
  };
};
template <bool Freezes, bool Served, bool InputGradient> struct frozen_layers_have_no_gradients {
  static constexpr bool holds = !Freezes || !(Served || InputGradient);
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "Freeze<n>: frozen layers have no gradients, for a server or below them; leave out the agreement with "
        "a server, and InputGradient");
  };
};
template <int Frozen, bool Said, bool SomeLearn> struct freeze_leaves_weights_to_learn {
  static constexpr bool holds = !Said || (Frozen >= 1 && SomeLearn);
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Freeze<n>: the first n layers keep their weights; n is from 1 on, and a layer with weights follows");
  };
};
template <bool FromZero> struct groups_have_factors_from_zero {
  static constexpr bool holds = FromZero;
  template <bool Holds> struct tell {
    static_assert(Holds, "ParameterGroup: rate and decay are factors from 0 on, of the plan's rate and weight_decay");
  };
};
/// Told by `fits`. Its own teller, not enforce: each level of instantiation costs three lines of clang's answer.
template <long NeededBytes, long GivenBytes, class... About> struct the_plan_fits_its_memory {
  static_assert(NeededBytes <= GivenBytes,
                "the plan does not fit: more bytes per rank than given; what takes and what saves MiB stands beside");
};
// The types that appear with it in the message.
template <long MiB> struct weights_take {};
template <long MiB> struct gradients_take {};
template <long MiB> struct optimizer_takes {};
template <long MiB> struct activations_take {};
template <long MiB> struct twice_the_replicas_save {};
template <long MiB> struct precision_bf16_saves {};
template <long MiB> struct plain_sgd_saves {};

}  // namespace cleave::plan
