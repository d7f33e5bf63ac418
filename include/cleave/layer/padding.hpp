// layer/padding.hpp - sequences of different length: what is padding, and layers over the positions that are not.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/padding.hpp"
#include "graph.hpp"

namespace cleave {

/// Of Attention: no position attends to padding. What is padding, an earlier `Embedding<n, f, PadToken<token>>` or
/// `Masking` says.
struct Padded : layer::Option {};

/// x (b, T, F), a sequence of numbers, goes on unchanged; later layers over padded sequences take positions whose
/// features are all 0 for padding. With data that are scaled afterwards these would not be 0: fit refuses
/// `.standardise`.
struct Masking {
  using ops = meta::list<op::ZeroMask>;
  using policies = meta::list<>;
  static constexpr void connect(auto& graph) {
    int const x = graph.current;
    graph.join(x, -2);
    graph.mask = graph.current;
    graph.current = x;
    ++graph.leaves;
  }
};

/// x (b, T, F), y (b, F): what the last position that is no padding has, 0 if all are: `Lstm<64>, LastValidPosition`.
struct LastValidPosition : layer::Chain<op::TakeLastValid> {};
/// x (b, T, F), y (b, F): the mean over positions; and over those that are no padding, 0 if all are.
struct MeanOverPositions : layer::Chain<op::MeanPositions> {};
struct MeanOverValidPositions : layer::Chain<op::MeanValidPositions> {};

}  // namespace cleave
