// optim/parameter_group.hpp - learning rates and weight decay by layer or by kind of weight.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <string_view>

#include "../tensor/shape.hpp"

namespace cleave {

/// A tensor of weights, for an optimizer that has groups.
struct Parameter {
  int layer = 0;               // its number in the model, as in the printed plan and in a checkpoint's names
  std::string_view operation;  // "product", "convolution", "bias", "batch_norm", ...
  int index = 0;               // among the operation's weights: of a norm 0 is the scale, 1 the shift
  Shape shape;                 // whole, over all ranks

  /// Matrices, filters and embeddings; not biases, nor scales and shifts of norms.
  constexpr bool is_matrix() const {
    return shape.dims > 1 && operation != "bias" && operation.find("norm") == std::string_view::npos;
  }
};

/// Factors of a tensor's learning rate and of its weight decay, from 0 on. With rate 0 it stays as it is.
///   struct Mine : AdamW {
///     static constexpr ParameterGroup group(Parameter p) {
///       return {.rate = p.layer < 8 ? 0.1f : 1.0f, .decay = p.is_matrix() ? 1.0f : 0.0f};
///     }
///   };
struct ParameterGroup {
  float rate = 1, decay = 1;
  friend constexpr bool operator==(ParameterGroup const&, ParameterGroup const&) = default;
};

namespace optim {

template <class Optimizer>
concept HasGroups = requires(Parameter p) {
  ParameterGroup{Optimizer::group(p)};
};

/// The group of weights; or, if they are not learned but move towards their gradients, by which share of the way.
struct RunGroup : ParameterGroup {
  float average = 0;
  friend constexpr bool operator==(RunGroup const&, RunGroup const&) = default;
};
/// Neighbouring weights of one group, up to element `end` of a rank's weights.
struct ParameterRun {
  long end = 0;
  RunGroup group;
};

/// All weights of a rank, in order; none: one group. If weights of several ways lie one after the other, each way has
/// the same runs.
struct ParameterRuns {
  ParameterRun const* of = nullptr;
  int count = 0;

  /// visit(first, how many, group) for the elements [begin, begin + many), in order.
  template <class Visit> constexpr void each(long begin, long many, Visit visit) const {
    if (count == 0) return visit(begin, many, RunGroup{});
    long const way = of[count - 1].end;
    for (long at = begin, end = begin + many; at < end;) {
      long const in = at % way;
      ParameterRun const& run = *std::upper_bound(of, of + count, in, [](long i, auto const& r) { return i < r.end; });
      long const next = std::min(end, at - in + run.end);
      visit(at, next - at, run.group);
      at = next;
    }
  }
};

}  // namespace optim
}  // namespace cleave
