// layer/norm.hpp - LocalResponseNorm<n>, LayerNorm, RmsNorm, GroupNorm<n>, BatchNorm, GhostBatchNorm.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/batch_norm.hpp"
#include "../op/ghost_norm.hpp"
#include "../op/group_norm.hpp"
#include "../op/layer_norm.hpp"
#include "../op/response_norm.hpp"
#include "../op/rms_norm.hpp"
#include "conv.hpp"
#include "graph.hpp"

namespace cleave {

/// The constants of the AlexNet paper; pass another class to change them.
struct AlexNetConstants {
  static constexpr double k = 2, alpha = 1e-4, beta = 0.75;
};

namespace layer {
template <class... Words> struct ResponseNormWords {
  using constants = AlexNetConstants;
  using policies = meta::list<Words...>;
};
template <class Constants, class... Words>
requires requires { Constants::alpha; }
struct ResponseNormWords<Constants, Words...> {
  using constants = Constants;
  using policies = meta::list<Words...>;
};
template <int Channels, class W>
using response_norm =
    op::ResponseNorm<Channels, typename W::constants, number_in<Groups, typename W::policies>::or_(1)>;
}  // namespace layer

/// `LocalResponseNorm<5>`, `LocalResponseNorm<5, Constants>`, `LocalResponseNorm<5, Groups<2>>`: over neighbouring
/// channels; with groups, of the same group, as in the two towers of AlexNet.
template <int Channels, class... Words>
struct LocalResponseNorm : layer::Chain<layer::response_norm<Channels, layer::ResponseNormWords<Words...>>> {
  using policies = typename layer::ResponseNormWords<Words...>::policies;
  using takes = meta::list<Groups<1>>;
  using law = layer::response_norm_has_channels<Channels, layer::number_in<Groups, policies>::or_(1)>;
};

struct LayerNorm : layer::Chain<op::LayerNorm> {};
/// Without a mean and a shift; epsilon 1e-6.
struct RmsNorm : layer::Chain<op::RootMeanSquareNorm> {};

template <int Groups> struct group_norm_has_groups {
  static constexpr bool holds = Groups >= 1;
  template <bool Holds> struct tell { static_assert(Holds, "GroupNorm<n>: the channels are in n groups, at least 1"); };
};
/// Of each sample, over the channels of a group and their positions: it reads no other sample.
template <int Groups> struct GroupNorm : layer::Chain<op::NormaliseGroups<Groups>> {
  using law = group_norm_has_groups<Groups>;
};

/// Over the batch and the positions, per channel. Under data parallelism the sums run over the whole batch on all
/// ranks.
struct BatchNorm : layer::Chain<op::BatchSums, op::Normalise> {
  static constexpr void connect(auto& graph) {
    int const x = graph.current;
    graph.chain();
    graph.join(x, graph.current);
    ++graph.leaves;
  }
};

/// Over the samples of a micro-batch and the positions, per channel: no rank waits for another, and a plan may have
/// rounds, stages of a pipeline, and replicas that do not wait. The plan says MicroBatches: their size matters for
/// training. The running mean and variance are weights, with the names of BatchNorm's in checkpoints.
struct GhostBatchNorm : layer::Chain<op::NormaliseMicroBatch, op::ScaleAndShift> {};

}  // namespace cleave
