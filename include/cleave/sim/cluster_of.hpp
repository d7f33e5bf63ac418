// sim/cluster_of.hpp - the devices of a plan as discrete events: what its step takes on a machine, and how it agrees.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cluster.hpp"
#include "timeline.hpp"

namespace cleave::sim {

/// What one gradient of plan P takes on each of `devices` devices at these speeds, in nanoseconds, and its messages. If
/// replicas sum by collectives, what they wait for sums after the backward pass is the exchange. Around a server a
/// device waits for the server's link, which shards share, and the optimizer's steps count as the device's. The batch
/// is divided among the devices that are waited for: at most as many as there are micro-batches.
struct PlanOnDevices {
  double gradient_ns = 0;
  ClusterLinks links;
};
template <class P> constexpr PlanOnDevices on_devices(Speeds const& speed, int devices) {
  Step const s = step_at<P>(speed, P::agreed::parts(devices));
  PlanOnDevices out{s.total - s.exposed, {}};
  if constexpr (P::served) {
    schedule::Program const& p = schedule::program<P>;
    double const by = speed.ns_of_byte / P::shards;
    out.links.latency_ns = speed.latency_ns;
    out.links.gradient_ns = static_cast<double>(pushed_bytes_of<P>()) * by;
    out.links.weights_ns = static_cast<double>(p.weight_elements * P::format.pushed) * P::ways * by;
  } else {
    out.links.exchange_ns = s.exposed;
  }
  return out;
}

/// `cluster_of<Train, Lab>(100, seed, {.late = 0.01, .delay_ns = 5e6}).run(1000).ns_per_update()`: plan Train on 100 of
/// machine Lab; `stragglers` come on top of what a gradient takes. At most `Most` devices; an Error as from Cluster,
/// and if devices that are waited for have no micro-batch each.
template <class P, class M, int Most = agree::most_replicas>
Cluster<typename P::agreed, Most> cluster_of(int devices, std::uint64_t seed = 1, StepTimes stragglers = {},
                                             ClusterFailures failures = {}) {
  if (P::agreed::waits && P::agreed::parts(devices) > P::micro_batches)
    throw Error({"cluster_of: ", devices, " devices share the ", P::micro_batches,
                 " micro-batches of this plan; say more MicroBatches, or simulate fewer devices"});
  PlanOnDevices const on = on_devices<P>(speeds<M>(P::format.data), devices);
  stragglers.least_ns += on.gradient_ns;
  return Cluster<typename P::agreed, Most>(devices, seed, stragglers, on.links, failures);
}

}  // namespace cleave::sim
