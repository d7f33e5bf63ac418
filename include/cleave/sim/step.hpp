// sim/step.hpp - a model of a plan's step on other devices and links: what overlaps with the backward pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../schedule/volume.hpp"
#include "machine.hpp"

namespace cleave {

namespace sim {

/// In nanoseconds. `exposed`: waited for gradients after the backward pass; `converting`: for values between ranks;
/// `total` has `updating`, the optimizer's steps, too.
struct Step {
  double compute = 0, exposed = 0, converting = 0, updating = 0, total = 0;
};

/// A message of a rank, in its rounds.
template <class P> constexpr double sending(Speeds const& m, schedule::Message const& sent, schedule::Ranks ranks) {
  double rounds = sent.ranks > 1 ? 2 : 0;
  if constexpr (!std::is_void_v<typename P::route>) {
    if (sent.routed) rounds = P::route::rounds(sent.elements, schedule::group(sent.over, ranks, P::format.data));
  }
  bool const between = sent.over.has(place::data_axis) || ranks.ways() == 1;
  return rounds * m.latency(between) + static_cast<double>(sent.bytes + sent.most_bytes) * m.of_byte(between);
}

/// The step of rank 0 among `replicas` replicas at these speeds: layer by layer as scheduled; a message starts when its
/// gradient is complete and the link is free.
template <class P> constexpr Step step_at(Speeds const& speed, int replicas) {
  static_assert(P::request.mesh.stages == 1, "sim::step: a step of a pipeline is not modelled yet");
  schedule::Ranks const ranks = P::ranks_of(replicas);
  place::Request const request = P::request_of(replicas);
  schedule::Share const share = schedule::shared(request, ranks);
  Step out;
  double free = 0, arrives[P::schedule.buckets + 1]{};
  auto const spend = [&](double& on, double time) {
    on += time;
    out.total += time;
  };
  for (int k = 0; k < P::schedule.steps; ++k) {
    schedule::Step const s = P::schedule.step[k];
    schedule::Message const m = schedule::message(s, schedule::program<P>, request, ranks, 0);
    if (s.what == schedule::Do::Start) {
      free = (free > out.total ? free : out.total) + sending<P>(speed, m, ranks);
      arrives[s.node] = free;
    } else if (s.what == schedule::Do::Update || s.what == schedule::Do::Norm) {  // a norm waits for all messages
      double const wait = (s.node < 0 ? free : arrives[s.node]) - out.total;
      if (wait > 0) spend(out.exposed, wait);
      if (s.what == schedule::Do::Norm) out.total += sending<P>(speed, m, ranks);
      if (s.what == schedule::Do::Update) {  // reads gradients; reads and writes weights and the optimizer's tensors
        double const numbers = static_cast<double>(P::schedule.bucket[s.node].count) * (3 + 2 * P::format.moments);
        spend(out.updating, speed.memory(numbers * P::format.sum));
      }
    } else if (m.verb != op::Verb::None) {
      spend(out.converting, sending<P>(speed, m, ranks));
    } else if (s.node >= 0 && P::placed.node[s.node].op >= 0 && !schedule::is_of_bucket(s.what)) {
      place::Node const& n = P::placed.node[s.node];
      int const slices = share.most(n.batch_axes) * request.rounds;
      spend(out.compute, time_of(speed, P::signatures.op[n.op], n.local, static_cast<double>(slices) * request.rows,
                                 P::format.data, s.what == schedule::Do::BackwardWeight ? slices : 1));
    }
  }
  return out;
}
/// On machine M.
template <class M, class P> constexpr Step step(int replicas) {
  return step_at<P>(speeds<M>(P::format.data), replicas);
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

/// Modelled nanoseconds of one training step of plan P on machine M: `static_assert(step_time<Train, Lab> < 12_ms)`.
template <class P, class M, int Replicas = (P::replicas > 0 ? P::replicas : 1)>
inline constexpr double step_time = sim::step<M, P>(Replicas).total;

/// What most of a modelled step's time goes to.
enum class Bottleneck : unsigned char { Compute, Gradients, Conversions, Update };
template <class P, class M, int Replicas = (P::replicas > 0 ? P::replicas : 1)>
inline constexpr Bottleneck bottleneck = [] {
  constexpr sim::Step s = sim::step<M, P>(Replicas);
  double const by[] = {s.compute, s.exposed, s.converting, s.updating};
  int most = 0;
  for (int i = 1; i < 4; ++i) most = by[i] > by[most] ? i : most;
  return static_cast<Bottleneck>(most);
}();

}  // namespace cleave
