// plan/pipeline.hpp - the split of a model's layers into stages of a pipeline: its words.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "../place/device_mesh.hpp"
#include "../place/partition.hpp"
#include "../schedule/pipeline.hpp"
#include "pipeline_laws.hpp"
#include "policies.hpp"

namespace cleave {

/// All micro-batches forward, then all back: a stage keeps the activations of all of them.
struct GPipe {
  static constexpr std::string_view name = "GPipe";
  static constexpr int chunks = 1;
  static constexpr auto transfers = schedule::PipelineTransfers::Alone;
  static constexpr schedule::PipelineTask task(schedule::Pipeline p, int stage, int k) {
    p.order = schedule::PipelineOrder::GPipe;
    return pipeline_task(p, stage, k);
  }
};
/// 1F1B: a stage goes back with a micro-batch as soon as it can, and keeps the activations of as many as there are
/// stages from it on.
struct OneForwardOneBackward {
  static constexpr std::string_view name = "1F1B";
  static constexpr int chunks = 1;
  static constexpr auto transfers = schedule::PipelineTransfers::Together;
  static constexpr schedule::PipelineTask task(schedule::Pipeline const& p, int stage, int k) {
    return pipeline_task(p, stage, k);
  }
};
/// 1F1B of stages that have `Chunks` parts of the layers each, stage s the parts s, s + stages, ...: it waits less by
/// that factor, and sends more. The rounds must be a multiple of the stages.
template <int Chunks> struct Interleaved {
  static constexpr std::string_view name = "interleaved 1F1B";
  static constexpr int chunks = Chunks;
  static constexpr auto transfers = schedule::PipelineTransfers::Ahead;
  static constexpr schedule::PipelineTask task(schedule::Pipeline const& p, int stage, int k) {
    return pipeline_task(p, stage, k);
  }
};

/// The first layer of each part but the first, as layers are numbered in the printed plan.
template <int... Layers> struct FirstLayers {
  static constexpr int count = sizeof...(Layers);
  static constexpr int of[count + 1]{Layers...};
};

/// `ModelParallel<SplitLayers<4>>`: a pipeline of stages, each of which has some layers, their weights and their
/// activations, on ranks of its own; beside it, a second ModelParallel may split these layers. A replica's
/// micro-batches pass the stages in rounds, those of `Accumulate<k>` (default: 2 for each stage, or the next number
/// below that divides the batch), with its bits. `Order`: OneForwardOneBackward, GPipe, Interleaved<chunks>, or a type
/// with their members; an order that is incomplete or would wait for ever does not compile. Stages cost about the same,
/// by multiply-adds, unless `First` is FirstLayers<...>.
/// Sources: Huang et al., "GPipe", NeurIPS 2019; Narayanan et al., "PipeDream", SOSP 2019.
template <int Stages, class Order = OneForwardOneBackward, class First = FirstLayers<>> struct SplitLayers;

namespace plan {

struct NoStages {
  static constexpr int stages = 1, ways = 0;
  using order = OneForwardOneBackward;
  using first = FirstLayers<>;
};

template <class O>
concept OrderOfTasks = requires(schedule::Pipeline p) {
  { O::name } -> std::convertible_to<std::string_view>;
  { O::chunks } -> std::convertible_to<int>;
  { O::transfers } -> std::convertible_to<schedule::PipelineTransfers>;
  { O::task(p, 0, 0) } -> std::convertible_to<schedule::PipelineTask>;
};

/// The rounds of a pipeline of which a plan does not say how many: `of`, its micro-batches or else the samples of its
/// batch, divide among them, each in `parts`.
constexpr int default_rounds(int of, int parts, int stages, bool whole_groups) {
  for (int n = 2 * stages; n > 1; --n) {
    if (of % (n * parts) == 0 && (!whole_groups || n % stages == 0)) return n;
  }
  return whole_groups ? stages : 1;
}

}  // namespace plan

template <int Stages, class Order, class First, class N> struct ModelParallel<SplitLayers<Stages, Order, First>, N> {
  using kind = plan::StageKind;
  static constexpr int stages = Stages, ways = N::ways;
  using order = Order;
  using first = First;
};

namespace plan {

/// The pipeline of a plan; one stage if the words are wrong.
template <class Said, bool Go> constexpr schedule::Pipeline pipeline_of(int rounds) {
  schedule::Pipeline p;
  if constexpr (Go) {
    p.stages = Said::stages;
    p.micro_batches = Said::stages > 1 ? rounds : 1;
    p.chunks = Said::stages > 1 ? Said::order::chunks : 1;
  }
  return p;
}
template <class First> constexpr bool firsts_are_good(int parts, int layers) {
  if (First::count == 0) return true;
  bool good = First::count == parts - 1;
  for (int i = 0; i < First::count; ++i) {
    good = good && First::of[i] > (i > 0 ? First::of[i - 1] : 0) && First::of[i] < layers;
  }
  return good;
}

}  // namespace plan
}  // namespace cleave
