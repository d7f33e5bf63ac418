// layer/norm.hpp - LocalResponseNorm<n>, LayerNorm, GroupNorm<n>, BatchNorm.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/batch_norm.hpp"
#include "../op/group_norm.hpp"
#include "../op/layer_norm.hpp"
#include "../op/response_norm.hpp"
#include "graph.hpp"

namespace cleave {

/// The constants of the AlexNet paper; pass another class to change them.
struct AlexNetConstants {
  static constexpr double k = 2, alpha = 1e-4, beta = 0.75;
};
template <int Channels, class Constants = AlexNetConstants>
struct LocalResponseNorm : layer::Chain<op::ResponseNorm<Channels, Constants>> {
  using law = layer::response_norm_has_channels<Channels>;
};

struct LayerNorm : layer::Chain<op::LayerNorm> {};

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

}  // namespace cleave
