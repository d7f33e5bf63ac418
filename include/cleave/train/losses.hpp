// train/losses.hpp - common to all trainers by collectives: the number of replicas, and the loss of a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>

#include "../backend/gpu/kernels/coder.hpp"
#include "../meta/error.hpp"
#include "../plan/unsaid.hpp"
#include "../schedule/slices.hpp"

namespace cleave::session {

/// The remedy if there are more replicas, each with `each` micro-batches, than the plan has: fewer of them, or a number
/// of micro-batches, a multiple of `unit`, that divides the batch.
template <class P> std::string way_out(long replicas, int each, int unit) {
  long const most = P::micro_batches / each, wanted = replicas * each;
  int const enough = wanted > P::batch ? 0 : plan::fewest_micro_batches(P::batch, static_cast<int>(wanted), unit);
  return (most > 0 ? "run at most " + std::to_string(most * P::ways) + " ranks, or " : "") +
         (enough > 0 ? "say MicroBatches<" + std::to_string(enough) + "> in the plan"
                     : "say a Batch that is a multiple of " + std::to_string(wanted) + ", with MicroBatches<" +
                           std::to_string(wanted) + ">, in the plan, not Batch<" + std::to_string(P::batch) + ">");
}

/// Returns `replicas`, or throws an error that says how many the plan can have.
template <class P> int checked_replicas(int replicas) {
  if (P::replicas > 0 && replicas != P::replicas) {
    throw Error("this plan runs on exactly " + std::to_string(P::replicas) + " replicas, got " +
                std::to_string(replicas));
  }
  bool const all_cut = [] {
    for (int k = 0; k < P::placed.count; ++k) {
      if (P::placed.node[k].rows_cut) return true;
    }
    return false;
  }();
  int const ways = all_cut ? P::ways : 1, rounds = P::request.rounds;
  if (replicas < 1) throw Error("a plan runs on replicas from 1 on, got " + std::to_string(replicas));
  if (long{replicas} * ways * rounds > P::micro_batches) {
    std::string const x_rounds = rounds > 1 ? " x " + std::to_string(rounds) + " rounds" : "";
    throw Error(std::to_string(replicas) + " replicas x " + std::to_string(ways) + " ways" + x_rounds +
                " cannot share " + std::to_string(P::micro_batches) + " micro-batches: every rank needs one" +
                (rounds > 1 ? " in every round" : "") + "; " +
                way_out<P>(replicas, ways * rounds, all_cut ? P::ways : 1));
  }
  if constexpr (!std::is_void_v<typename P::route>) {
    if (!P::route::fits({replicas, 1, sizeof(typename P::number)})) {
      throw Error(std::to_string(replicas) +
                  " replicas do not fill the nodes of this plan's route; run a multiple of what it has in a node");
    }
  }
  return replicas;
}

/// The feature of a plan that devices do not support yet; empty if it can run on one.
template <class P> constexpr std::string_view stays_on_host() {
  bool coded = true;
  if constexpr (P::compressed)
    coded = backend::gpu::Coded<typename P::codec, tensor::accumulate_t<typename P::number>>::here;
  bool const by_server = P::served;  // pushes are prepared on the host
  return coded || by_server ? "" : "gradients compressed by a codec without a kernel (backend/gpu/kernels/coder.hpp)";
}

/// The mean over a batch from the sums of its micro-batches, in the tree of all sums over the batch.
template <class P, class A> double mean_loss(A const* of, long step) {
  schedule::TreeSum sum{P::micro_batches};
  A stack[schedule::most_branches];
  for (int s = 0; s < P::micro_batches; ++s) {
    stack[sum.depth] = of[s];
    sum.push({s, 1}, [&](int a, int b) { stack[a] += stack[b]; });
  }
  double const mean = static_cast<double>(stack[0]) / P::batch;
  if (!std::isfinite(mean)) {
    throw Diverged("the loss is not finite at step " + std::to_string(step) +
                   ": training has diverged; a smaller learning rate or a longer warm-up may help");
  }
  return mean;
}

}  // namespace cleave::session
