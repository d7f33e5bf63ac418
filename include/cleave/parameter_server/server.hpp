// parameter_server/server.hpp - the weights of a plan on a parameter server: shards, each with an agreement, one event at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../backend/host/shard.hpp"
#include "../plan/unsaid.hpp"
#include "replica.hpp"

namespace cleave::session {

/// Every way's weights are cut into the plan's shards; shard s holds [begin(s), end(s)) of way s / P::shards. If
/// replicas wait for each other there is one shard with the weights of all ways, one after the other: with separate
/// shards, two replicas that are late at different ones would deadlock.
template <class P> class Server {
 public:
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  using Keeper = typename P::agreed::template keeper<64>;
  using Shard = backend::host::Shard<Keeper, typename P::optimizer, T, P::agreed::change, P::agreed::percent>;
  using Sent = typename Shard::Sent;
  using Actions = agree::Actions<Keeper::most>;
  static constexpr bool waits = P::agreed::waits;
  static constexpr int shards = waits ? 1 : P::shards * P::ways;

  /// Starts with the weights of `start`.
  Server(int replicas, Replica<P>& start) : parts_(parts(replicas)) {
    Keeper keeper;
    if constexpr (Shard::together) keeper.workers = replicas, keeper.quorum = parts_;
    std::vector<A> all;
    for (int w = 0; w < P::ways; ++w) {
      A const* const own = start.at(w).weights();
      all.insert(all.end(), own, own + P::schedule.weight_elements);
    }
    for (int s = 0; s < shards; ++s) {
      A const* const first = all.data() + way(s) * P::schedule.weight_elements + begin(s);
      shard_.push_back(std::make_unique<Guarded>(keeper, first, end(s) - begin(s)));
    }
  }

  /// The number of parts of the batch.
  static int parts(int replicas) {
    if (P::replicas > 0 && replicas != P::replicas) {
      throw Error("this plan runs on exactly " + std::to_string(P::replicas) + " replicas, got " +
                  std::to_string(replicas));
    }
    if (replicas < 1 || replicas > Keeper::most) {
      throw Error("a server keeps 1 to " + std::to_string(Keeper::most) + " replicas, got " + std::to_string(replicas));
    }
    int const n = P::agreed::parts(replicas);
    if (n < 1) {
      throw Error("Spares<" + std::to_string(P::agreed::spares) + "> of " + std::to_string(replicas) +
                  " replicas leave none to wait for; run at least " + std::to_string(P::agreed::spares + 1));
    }
    constexpr int groups = P::request.portions.groups;
    if constexpr (groups > 0) {
      if (replicas % groups == 0) return n;
      throw Error("PerReplica of " + std::to_string(groups) + " groups: replicas are a multiple of that, got " +
                  std::to_string(replicas));
    }
    if (P::micro_batches % n != 0) {
      throw Error(std::to_string(P::micro_batches) + " micro-batches do not divide among the " + std::to_string(n) +
                  " replicas of an update; " + even_parts(n));
    }
    return n;
  }
  /// The remedy if the micro-batches do not divide among n replicas.
  static std::string even_parts(int n) {
    int fewer = n;
    while (P::micro_batches % fewer != 0) --fewer;
    int const enough = plan::fewest_micro_batches(P::batch, n, n);
    return "run " + std::to_string(fewer + P::agreed::spares) + " replicas, or say " +
           (enough > 0 ? "MicroBatches<" + std::to_string(enough) + ">"
                       : "a Batch that is a multiple of " + std::to_string(n) + ", with MicroBatches<" +
                             std::to_string(n) + ">");
  }
  int parts() const { return parts_; }
  /// The micro-batches of a replica of those drawn for a step.
  static schedule::Range part(int replica, int replicas) {
    int const n = parts(replicas);
    if (P::request.portions.groups > 0) {
      int const begin = waits ? P::request.portions.before(replica, replicas) : 0;
      return {begin, begin + P::request.portions.of(replica, replicas)};
    }
    int const each = P::micro_batches / n, first = waits ? replica : 0;
    return {first * each, (first + 1) * each};
  }
  static constexpr int way(int s) { return waits ? 0 : s / P::shards; }
  static constexpr long begin(int s) { return waits ? 0 : P::schedule.weight_elements * (s % P::shards) / P::shards; }
  static constexpr long end(int s) {
    return waits ? P::schedule.weight_elements * P::ways
                 : P::schedule.weight_elements * (s % P::shards + 1) / P::shards;
  }
  /// visit(shard, first element there, first element of these, how many) for [offset, offset + count) of a way.
  template <class Visit> static void each_piece(int of_way, long offset, long count, Visit visit) {
    long const before = waits ? of_way * P::schedule.weight_elements : 0;
    for (int s = 0; s < shards; ++s) {
      if (!waits && way(s) != of_way) continue;
      long const from = std::max(begin(s), before + offset), to = std::min(end(s), before + offset + count);
      if (from < to) visit(s, from - begin(s), from - before - offset, to - from);
    }
  }

  /// Passes an event to shard s, then calls `then(actions, version)` before any other event. `rate(version)` is the
  /// learning rate of an update.
  template <class RateOf, class Then> void hear(int s, agree::Event const& e, Sent* pushed, RateOf rate, Then then) {
    Actions out;
    std::lock_guard lock(at(s).mutex);
    at(s).shard.hear(
        e, pushed, [&](int newest) { return optim::now<typename P::optimizer, A>(rate(newest), newest); }, out);
    at(s).owes(e.worker, false);  // a worker that pushes has what it was sent
    for (agree::Action const& a : out) {
      if (a.what == agree::Done::Grant) at(s).owes(a.worker, true);
    }
    then(out, at(s).shard.version());
  }
  /// Copies the newest weights of shard s into a replica; returns their version.
  template <class To> int pull(int s, To& to, int worker = -1) {
    std::lock_guard lock(at(s).mutex);
    at(s).owes(worker, false);
    to.take(way(s), begin(s), at(s).shard.sent(), end(s) - begin(s));
    return at(s).shard.version();
  }
  /// A worker has received what it was granted.
  void sent(int s, int worker) {
    std::lock_guard lock(at(s).mutex);
    at(s).owes(worker, false);
  }
  /// The largest number of bytes of weights that shard s owed at once: granted, and not yet taken.
  long most_owed(int s) const {
    std::lock_guard lock(shard_[static_cast<std::size_t>(s)]->mutex);
    return shard_[static_cast<std::size_t>(s)]->most * (end(s) - begin(s)) * static_cast<long>(sizeof(Sent));
  }
  void forget_most_owed() {
    for (auto& g : shard_) {
      std::lock_guard lock(g->mutex);
      g->forget();
    }
  }
  template <class Visit> void look(int s, Visit visit) {
    std::lock_guard lock(at(s).mutex);
    visit(at(s).shard);
  }
  /// Elements [offset, offset + count) of a way's weights, or of its optimizer's tensors one after the other.
  void read(int of_way, backend::host::Region region, long offset, long count, A* out) {
    overlap(of_way, region, offset, count, [&](A* here, long at, long n) { std::copy_n(here, n, out + at); });
  }
  void write(int of_way, backend::host::Region region, long offset, long count, A const* in) {
    overlap(of_way, region, offset, count, [&](A* here, long at, long n) { std::copy_n(in + at, n, here); });
  }
  void refresh_copies() {
    for (auto& g : shard_) g->shard.refresh_copies();
  }
  void set_steps(long steps) {
    for (auto& g : shard_) g->shard.set_version(static_cast<int>(steps / P::agreed::pace.push));
  }

 private:
  struct Guarded {
    Guarded(Keeper k, A const* w, long n) : shard(k, w, n) {}
    void owes(int worker, bool owed) {
      if (worker < 0 || worker >= Keeper::most || owed_[worker] == owed) return;
      owed_[worker] = owed;
      owed_now_ += owed ? 1 : -1;
      most = std::max(most, owed_now_);
    }
    void forget() { most = owed_now_; }
    std::mutex mutex;
    Shard shard;
    int most = 0;

   private:
    bool owed_[Keeper::most]{};
    int owed_now_ = 0;
  };
  template <class Visit> void overlap(int of_way, backend::host::Region region, long offset, long count, Visit visit) {
    long const all = P::schedule.weight_elements, tensor = offset / all;
    each_piece(of_way, offset % all, count, [&](int s, long there, long here, long n) {
      std::lock_guard lock(at(s).mutex);
      auto& shard = at(s).shard;
      bool const weights = region == backend::host::Region::Weights;
      visit((weights ? shard.weights() : shard.moments() + tensor * shard.count()) + there, here, n);
    });
  }
  Guarded& at(int s) { return *shard_[static_cast<std::size_t>(s)]; }

  int parts_;
  std::vector<std::unique_ptr<Guarded>> shard_;
};

}  // namespace cleave::session
