// backend/host/execution/actions.hpp - the schedule lowered for one rank: kernels with their pointers, set up before the first step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "../../../schedule/optimizer_parts.hpp"
#include "../communication/member.hpp"
#include "../communication/sum.hpp"
#include "../kernels/kernel.hpp"
#include "../kernels/update.hpp"

namespace cleave::backend::host {

enum class Act : unsigned char {
  Kernel,  // call, or make_sums
  Merge,   // to += from: two branches of a sum
  MergeBatchSums,
  Round,    // to the format of the data
  Reclaim,  // wait until no rank reads a bucket's sums of the step before
  Convert,
  Recycle,  // wait until another stage has read what was in the place of what it is sent next
  Offer,    // to another stage: what it reads is there
  Pull,     // what another stage offers; blocks
  Gather,   // the weights of a bucket; blocks
  Sum,      // of batch sums, over the ranks; blocks
  Start,
  Add,
  Keep,  // of a bucket's sum the part that is this rank's
  Norm,
  Update,
  UpdateWeight
};

/// Arguments of a weight update: master, copy (null when it is the master), moments `apart` elements from each other.
template <class T> struct Stepping {
  using A = tensor::accumulate_t<T>;
  A* weights = nullptr;
  T* copies = nullptr;
  A* moments = nullptr;
  long apart = 0;
  schedule::PartShifts shift{};
  A* kept = nullptr;  // if set, gradients are added to it, and the optimizer is on a server
  A own_rate = 0;     // with kept gradients: the rate at which local weights are updated by plain SGD
  optim::Now<A> now{};
  A scale = 1;  // of gradients, from their norm
  optim::ParameterRuns groups{};
  // step<Optimizer> of the plan's optimizer, for gradients in the format of sums and in that of the data.
  void (*step_sums)(Stepping const&, long offset, long count, A const* g) = nullptr;
  void (*step_data)(Stepping const&, long offset, long count, T const* g) = nullptr;

  /// Steps the weights [offset, offset + count) by their gradients g.
  template <class G> void step(long offset, long count, G const* g) const {
    if constexpr (std::is_same_v<G, A>) {
      step_sums(*this, offset, count, g);
    } else {
      step_data(*this, offset, count, g);
    }
  }
  /// G: a pointer to gradients, or an OuterProduct.
  template <class Optimizer, class G> void step_by(long offset, long count, G g) const {
    if (kept) {
      for (long i = 0; i < count; ++i) kept[offset + i] += static_cast<A>(g[i]);
      if (own_rate != 0) {
        groups.each(offset, count, [&](long at, long n, ParameterGroup const& group) {
          A const rate = own_rate * static_cast<A>(group.rate);
          for (long i = at; i < at + n; ++i) weights[i] -= rate * static_cast<A>(g[i - offset]);
        });
        for (long i = 0; copies && i < count; ++i) copies[offset + i] = static_cast<T>(weights[offset + i]);
      }
      return;
    }
    auto const in = [&](long at, long n, optim::Now<A> const& then) {
      update<Optimizer, T>(weights + (at + shift.weights), copies ? copies + (at + shift.copies) : nullptr,
                           g + (at - offset), moments + (at + shift.moments), apart, n, then, scale);
    };
    if constexpr (optim::HasGroups<Optimizer>) {
      groups.each(offset, count, [&](long at, long n, optim::RunGroup const& group) { in(at, n, now.in(group)); });
    } else {
      in(offset, count, now);
    }
  }
};

template <class T, class On = Host> struct Action {
  using A = tensor::accumulate_t<T>;
  using S = tensor::batch_sum_t<T>;
  using Context = typename On::Context;
  using Call = void (*)(Context, op::Operands<T> const&);
  using Update = void (*)(Context, op::Operands<T> const&, Stepping<T> const&, long);
  using Branches = typename On::template Branches<A>;
  using MakeSums = void (*)(Context, op::Operands<T> const&, Branches const&);
  Act act = Act::Kernel;
  Call call = nullptr;
  MakeSums make_sums = nullptr;  // sums of several slices, merged as they are computed
  Update update = nullptr;
  op::Operands<T> t;
  std::shared_ptr<op::Operands<T>[]> tail;  // what t points at
  Branches branches;
  int step = 0;  // in the schedule
  int bucket = 0;
  int exchange = 0;  // of Convert, Sum and Norm: its number on the rank
  A *to = nullptr, *from = nullptr;
  S *sum_to = nullptr, *sum_from = nullptr;  // operands of MergeBatchSums
  T *add_to = nullptr, *add_from = nullptr;
  long n = 0;
  long shift = 0;        // of UpdateWeight: from the weight's offset to its place on its stage
  bool rounded = false;  // for Merge
};

/// The actions of one round; of a pipeline, those of a micro-batch through one part, forward or back.
template <class Made> struct RoundOfActions {
  int round = 0;
  bool reads_input = true, reads_answers = true, counts = true;  // what it begins with, and ends with in an evaluation
  std::vector<Made> actions{};
};

template <class T, class On> struct Kernels {
  typename Action<T, On>::Call forward = nullptr, backward_input = nullptr, backward_weight = nullptr;
  typename Action<T, On>::MakeSums make_sums = nullptr;
  typename Action<T, On>::Update update_weight = nullptr;
  typename Action<T, On>::Call linked[2]{};  // forward, backward: this step and those fused with it
  bool takes_slices = false;
  bool loss_with_gradient = false;  // of a loss, whose gradient brings the loss too
};

}  // namespace cleave::backend::host
