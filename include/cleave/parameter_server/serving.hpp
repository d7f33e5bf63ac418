// parameter_server/serving.hpp - what a parameter server and its replicas ask of a plan, as values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <string>

#include "../agree/decider.hpp"
#include "../backend/host/shard.hpp"
#include "../optim/rate.hpp"
#include "../plan/unsaid.hpp"
#include "../send/codec.hpp"
#include "../train/fingerprint.hpp"
#include "../train/losses.hpp"
#include "../train/thread_ranks.hpp"

namespace cleave::session {

/// The formats of a plan around a server: of its data, of its sums, and of what is pushed.
template <class Data, class Push> struct PushFormats {
  using T = Data;
  using A = tensor::accumulate_t<T>;
  using Sent = Push;
};
template <class P>
using formats_of = PushFormats<typename P::number, backend::host::Pushed<typename P::number, P::agreed::change>>;

/// How the weights of a plan are dealt out among shards, and its batch among replicas. Every way's weights are cut into
/// the plan's shards; shard s holds [begin(s), end(s)) of way(s). If replicas wait for each other, all shards follow
/// the first (agree/follower.hpp); by Shards<1> they have one shard with the weights of all ways, one after the other.
struct Serving {
  Description const* plan = nullptr;
  agree::Terms agreed;
  int shards_of_way = 1;
  Rate rate;
  backend::host::Wanted wanted;  // by the loss
  std::uint64_t (*fingerprint)(int replicas) = nullptr;

  schedule::Program const& program() const { return plan->program; }
  int ways() const { return program().mesh.ways(); }
  int micro_batches() const { return plan->request.micro_batches; }
  place::Portions const& portions() const { return plan->request.portions; }
  bool waits() const { return agreed.waits; }
  agree::Pace pace() const { return agreed.pace; }
  bool steps_itself() const { return agreed.steps_itself(); }
  bool elastic() const { return agreed.elastic(); }
  /// The elements of a way's weights.
  long elements() const { return program().weight_elements; }

  /// One shard has the weights of all ways.
  bool whole() const { return waits() && shards_of_way == 1; }
  int shards() const { return whole() ? 1 : shards_of_way * ways(); }
  int way(int s) const { return whole() ? 0 : s / shards_of_way; }
  long begin(int s) const { return whole() ? 0 : of_shards().begin(s % shards_of_way, shards_of_way); }
  long end(int s) const {
    return whole() ? elements() * ways() : of_shards().begin(s % shards_of_way + 1, shards_of_way);
  }
  /// All shards make the updates that the first one decides.
  bool in_step() const { return waits() && shards() > 1; }
  /// The shard whose version a push to shard s is computed with.
  int decided_by(int s) const { return in_step() ? 0 : s; }
  bool follows(int s) const { return decided_by(s) != s; }
  /// The shard that a replica pushes to as its k-th: the first one once all others have the push.
  int pushed_at(int k) const { return in_step() ? (k + 1) % shards() : k; }
  long count(int s) const { return end(s) - begin(s); }
  Partition of_shards() const { return {elements()}; }
  /// A new worker's state.
  agree::AnyWorker worker() const {
    agree::AnyWorker w = agree::worker(pace(), shards());
    w.in_step = in_step();
    return w;
  }
  /// visit(shard, first element there, first element of these, how many) for [offset, offset + count) of a way.
  template <class Visit> void each_piece(int of_way, long offset, long many, Visit visit) const {
    long const before = whole() ? of_way * elements() : 0;
    for (int s = 0; s < shards(); ++s) {
      if (!whole() && way(s) != of_way) continue;
      long const from = std::max(begin(s), before + offset), to = std::min(end(s), before + offset + many);
      if (from < to) visit(s, from - begin(s), from - before - offset, to - from);
    }
  }

  /// The number of parts of the batch. Throws Error if there cannot be so many replicas.
  int parts(int replicas) const {
    if (std::string const why = other_than_fixed(*plan, replicas); !why.empty()) throw Error(why);
    if (replicas < 1 || replicas > agree::most_replicas) {
      throw Error({"a server keeps 1 to ", agree::most_replicas, " replicas, got ", replicas});
    }
    int const n = agreed.parts(replicas);
    if (n < 1) {
      throw Error({"Spares<", agreed.spares, "> of ", replicas, " replicas leave none to wait for; run at least ",
                   agreed.spares + 1});
    }
    if (int const groups = portions().groups; groups > 0) {
      if (replicas % groups == 0) return n;
      throw Error({"PerReplica of ", groups, " groups: replicas are a multiple of that, got ", replicas});
    }
    if (micro_batches() % n != 0) {
      throw Error(
          {micro_batches(), " micro-batches do not divide among the ", n, " replicas of an update; ", even_parts(n)});
    }
    return n;
  }
  /// The remedy if the micro-batches do not divide among n replicas.
  std::string even_parts(int n) const {
    int fewer = n;
    while (micro_batches() % fewer != 0) --fewer;
    int const enough = plan::fewest_micro_batches(plan->batch, n, n);
    return "run " + std::to_string(fewer + agreed.spares) + " replicas, or say " +
           (enough > 0 ? "MicroBatches<" + std::to_string(enough) + ">"
                       : "a Batch that is a multiple of " + std::to_string(n) + ", with MicroBatches<" +
                             std::to_string(n) + ">");
  }
  /// The micro-batches of a replica of those drawn for a step.
  schedule::Range part(int replica, int replicas) const {
    int const n = parts(replicas);
    if (portions().groups > 0) {
      int const first = waits() ? portions().before(replica, replicas) : 0;
      return {first, first + portions().of(replica, replicas)};
    }
    int const each = micro_batches() / n, first = waits() ? replica : 0;
    return {first * each, (first + 1) * each};
  }
};
template <class P>
inline constexpr Serving serving{&description<P>,    agree::terms<typename P::agreed, P::served>(),
                                 P::shards,          P::rate,
                                 lower::wanted<P>(), &session::fingerprint<P>};

/// And the functions of its policies, by formats F.
template <class F> struct Service : Serving {
  using T = typename F::T;
  using A = typename F::A;
  RanksOf<T> threads{};
  optim::Now<A> (*now)(double rate, long step) = nullptr;
  backend::host::ShardRules<T> rules{};
  // Of a codec, where pushes are encoded (send/codec.hpp).
  void (*encode)(long n, A const* g, A* left, std::byte* out) = nullptr;
  void (*decode)(long n, std::byte const* in, A* to) = nullptr;
};
template <class P> constexpr Service<formats_of<P>> serve_plan() {
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  using Optimizer = typename P::optimizer;
  Service<formats_of<P>> s{serving<P>};
  s.threads = ranks_by<P, ThreadRanks<P>>;
  s.now = &optim::now<Optimizer, A>;
  agree::Terms const& agreed = serving<P>.agreed;
  s.rules = {agreed.change,
             agreed.percent,
             agreed.outer,
             agreed.together,
             P::agreed::moments(Optimizer::moments),
             &backend::host::step_shard<Optimizer, T>,
             schedule::program<P>.groups};
  if constexpr (P::clips && P::pushes_gradients) {
    s.rules.gradient_scale = &optim::gradient_scale<Optimizer, A>;
    s.rules.program = &schedule::program<P>;
  }
  if constexpr (P::served && bool(P::format.encoding)) {
    s.encode = &send::encode<typename P::codec, A>;
    s.decode = &send::decode<typename P::codec, A>;
  }
  return s;
}
/// Of plan P.
template <class P> inline constexpr Service<formats_of<P>> service = serve_plan<P>();

}  // namespace cleave::session
