// sim/step.hpp - a model of a plan's step on other devices and links: what overlaps with the backward pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../schedule/volume.hpp"
#include "../send/cost.hpp"

namespace cleave {

/// A device that does `Flops` multiplications and additions a nanosecond in products and convolutions, and the links
/// between devices.
template <long Flops, class L = Ethernet10G> struct Machine {
  static constexpr double flops = static_cast<double>(Flops);
  using link = L;
};

namespace sim {

/// In nanoseconds. `exposed`: waited for gradients after the backward pass; `total` has conversions between layouts
/// too.
struct Step {
  double compute = 0, exposed = 0, total = 0;
};

/// For one sample, forward.
template <int Ops> constexpr double flops(place::Signatures<Ops> const& model, place::Node const& n) {
  if (n.op < 0 || !model.op[n.op].contracts) return 0;
  return 2.0 * static_cast<double>(n.local.w0.size()) * static_cast<double>(n.local.y.stride(0));
}
/// A message of a rank, in its rounds.
template <class M, class P> constexpr double sending(schedule::Message const& m, schedule::Ranks ranks) {
  using L = typename M::link;
  double rounds = m.ranks > 1 ? 2 : 0;
  if constexpr (!std::is_void_v<typename P::route>) {
    if (m.routed) rounds = P::route::rounds(m.elements, schedule::group(m.over, ranks, P::format.data));
  }
  return rounds * send::Cost<L>::alpha + static_cast<double>(m.bytes + m.most_bytes) * send::Cost<L>::beta;
}

/// The step of rank 0 among `replicas` replicas on machine M: layer by layer as scheduled; a message starts when its
/// gradient is complete and the link is free. Layers without products take no time.
template <class M, class P> constexpr Step step(int replicas) {
  static_assert(P::request.mesh.stages == 1, "sim::step: a step of a pipeline is not modelled yet");
  schedule::Ranks const ranks = P::ranks_of(replicas);
  place::Request const request = P::request_of(replicas);
  schedule::Share const share = schedule::shared(request, ranks);
  Step out;
  double free = 0, arrives[P::schedule.buckets + 1]{};
  for (int k = 0; k < P::schedule.steps; ++k) {
    schedule::Step const s = P::schedule.step[k];
    schedule::Message const m = schedule::message(s, schedule::program<P>, request, ranks, 0);
    if (s.what == schedule::Do::Start) {
      free = (free > out.total ? free : out.total) + sending<M, P>(m, ranks);
      arrives[s.node] = free;
    } else if (s.what == schedule::Do::Update || s.what == schedule::Do::Norm) {  // a norm waits for all messages
      double const wait = (s.node < 0 ? free : arrives[s.node]) - out.total;
      if (wait > 0) out.exposed += wait, out.total += wait;
      if (s.what == schedule::Do::Norm) out.total += sending<M, P>(m, ranks);
    } else if (m.verb != op::Verb::None) {
      out.total += sending<M, P>(m, ranks);
    } else if (s.node >= 0 && P::placed.node[s.node].op >= 0) {
      place::Node const& n = P::placed.node[s.node];
      double const samples = static_cast<double>(share.most(n.batch_axes)) * request.rounds * request.rows;
      double const time = samples * flops(P::signatures, n) / M::flops;
      out.compute += time;
      out.total += time;
    }
  }
  return out;
}
/// How much faster n replicas are than one, on the same batch.
template <class M, class P> constexpr double speedup(int n) { return step<M, P>(1).total / step<M, P>(n).total; }
/// The number of replicas, up to `most`, beyond which one more makes a step no faster.
template <class M, class P> constexpr int knee(int most) {
  int best = 1;
  for (int n = 2; n <= most && n <= P::micro_batches; ++n) {
    if (step<M, P>(n).total < step<M, P>(best).total) best = n;
  }
  return best;
}

}  // namespace sim
}  // namespace cleave
