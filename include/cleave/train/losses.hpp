// train/losses.hpp - common to all trainers by collectives: the number of replicas, and the loss of a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>

#include "../backend/gpu/kernels/coder.hpp"
#include "../meta/error.hpp"
#include "../meta/in_library.hpp"
#include "../plan/unsaid.hpp"
#include "../schedule/slices.hpp"
#include "description.hpp"

namespace cleave::session {

/// The remedy if there are more replicas, each with `each` micro-batches, than the plan has: fewer of them, or a number
/// of micro-batches, a multiple of `unit`, that divides the batch.
CLEAVE_IN_LIBRARY std::string way_out(Description const& plan, long replicas, int each, int unit) {
  long const most = plan.request.micro_batches / each, wanted = replicas * each;
  int const enough = wanted > plan.batch ? 0 : plan::fewest_micro_batches(plan.batch, static_cast<int>(wanted), unit);
  return (most > 0 ? "run at most " + std::to_string(most * plan.program.mesh.ranks_of_replica()) + " ranks, or "
                   : "") +
         (enough > 0 ? "say MicroBatches<" + std::to_string(enough) + "> in the plan"
                     : "say a Batch that is a multiple of " + std::to_string(wanted) + ", with MicroBatches<" +
                           std::to_string(wanted) + ">, in the plan, not Batch<" + std::to_string(plan.batch) + ">");
}

/// Why a plan that fixes the number of its replicas cannot have so many; empty if it can, or fixes none.
CLEAVE_IN_LIBRARY std::string other_than_fixed(Description const& plan, int replicas) {
  if (plan.replicas == 1 && replicas > 1)
    return meta::joined({"this plan runs on 1 replica, got ", replicas,
                         "; for more say DataParallel<Sync> in it, or Data<", replicas, "> in its Mesh"});
  if (plan.replicas > 0 && replicas != plan.replicas)
    return meta::joined({"this plan runs on exactly ", plan.replicas, " replicas, got ", replicas});
  return {};
}
/// Why the plan cannot have so many replicas, and how many it can have; empty if it can.
CLEAVE_IN_LIBRARY std::string what_forbids(Description const& plan, int replicas) {
  if (std::string why = other_than_fixed(plan, replicas); !why.empty()) return why;
  int ways = 1;  // that share a replica's micro-batches
  for (int k = 0; k < plan.program.nodes; ++k)
    ways = std::max(ways, plan.program.mesh.with_replicas(1).group_size(plan.program.node[k].batch_axes));
  int const micro_batches = plan.request.micro_batches, rounds = plan.request.rounds;
  if (replicas < 1) return meta::joined({"a plan runs on replicas from 1 on, got ", replicas});
  if (long{replicas} * ways * rounds > micro_batches) {
    std::string const x_rounds = rounds > 1 ? " x " + std::to_string(rounds) + " rounds" : "";
    return meta::joined({replicas, " replicas x ", ways, " ways", x_rounds, " cannot share ", micro_batches,
                         " micro-batches: every rank needs one", (rounds > 1 ? " in every round" : ""), "; ",
                         way_out(plan, replicas, ways * rounds, ways)});
  }
  schedule::Format const& format = plan.program.format;
  if (format.path && !format.path.fits({replicas, 1, format.data})) {
    return meta::joined(
        {replicas, " replicas do not fill the nodes of this plan's route; run a multiple of what it has in a node"});
  }
  return {};
}
/// Returns `replicas`, or throws Error.
inline int checked_replicas(Description const& plan, int replicas) {
  if (std::string const why = what_forbids(plan, replicas); !why.empty()) throw Error(why);
  return replicas;
}
template <class P> int checked_replicas(int replicas) { return checked_replicas(description<P>, replicas); }

/// The feature of a plan that devices do not support yet; empty if it can run on one.
template <class P> constexpr std::string_view stays_on_host() {
  bool coded = true;
  if constexpr (P::compressed)
    coded = backend::gpu::Coded<typename P::codec, tensor::accumulate_t<typename P::number>>::here;
  bool const by_server = P::served;  // pushes are prepared on the host
  if (P::pipeline.stages > 1) return "layers in stages (SplitLayers)";
  if (P::blocks > 1) return "sums of products in blocks (Blocks)";
  return coded || by_server ? "" : "gradients compressed by a codec without a kernel (backend/gpu/kernels/coder.hpp)";
}

/// The mean over a batch from the sums of its micro-batches, in the tree of all sums over the batch.
template <class A> double mean_loss(Description const& plan, A const* of, long step) {
  int const micro_batches = plan.request.micro_batches;
  schedule::TreeSum sum{micro_batches};
  A stack[schedule::most_branches];
  for (int s = 0; s < micro_batches; ++s) {
    stack[sum.depth] = of[s];
    sum.push({s, 1}, [&](int a, int b) { stack[a] += stack[b]; });
  }
  double const mean = static_cast<double>(stack[0]) / plan.batch;
  if (!std::isfinite(mean)) {
    throw Diverged({"the loss is not finite at step ", step,
                    ": training has diverged; a smaller learning rate or a longer warm-up may help"});
  }
  return mean;
}
template <class P, class A> double mean_loss(A const* of, long step) { return mean_loss(description<P>, of, step); }

}  // namespace cleave::session
