// parameter_server/server.hpp - the weights of a plan on a parameter server: shards, each with an agreement, one event at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "replica.hpp"

namespace cleave::session {

/// Shards as serving.hpp says.
template <class F> class Server {
 public:
  using T = typename F::T;
  using A = typename F::A;
  using Sent = typename F::Sent;
  using Shard = backend::host::Shard<T, Sent, agree::most_replicas>;
  using Actions = agree::Actions<agree::most_replicas>;
  /// The learning rate of an update, and what follows an event: its decisions, and the newest version.
  using RateOf = std::function<double(long update)>;
  using Then = std::function<void(Actions const& actions, int newest)>;

  /// Starts with the weights of `start`.
  Server(Service<F> const& of, int replicas, Replica<F>& start) : of_(of), parts_(of.parts(replicas)) {
    std::vector<A> all;
    for (int w = 0; w < of_.ways(); ++w) {
      A const* const own = start.at(w).weights();
      all.insert(all.end(), own, own + of_.elements());
    }
    for (int s = 0; s < of_.shards(); ++s) {
      A const* const first = all.data() + of_.way(s) * of_.elements() + of_.begin(s);
      shard_.push_back(std::make_unique<Guarded>(of_.agreed.decider(replicas, parts_), of_.rules, first, of_.count(s),
                                                 of_.begin(s)));
    }
  }
  Server(Server const&) = delete;
  Server& operator=(Server const&) = delete;

  /// The number of parts of the batch.
  int parts() const { return parts_; }

  /// Passes an event to shard s, then calls `then` before any other event.
  void hear(int s, agree::Event const& e, Sent* pushed, RateOf const& rate, Then const& then) {
    Actions out;
    std::lock_guard lock(at(s).mutex);
    at(s).shard.hear(
        e, pushed, [&](int newest) { return of_.now(rate(newest), newest); }, out);
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
    to.take(of_.way(s), of_.begin(s), at(s).shard.sent(), of_.count(s));
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
    return shard_[static_cast<std::size_t>(s)]->most * of_.count(s) * static_cast<long>(sizeof(Sent));
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
    for (auto& g : shard_) g->shard.set_version(static_cast<int>(steps / of_.pace().push));
  }

 private:
  struct Guarded {
    Guarded(std::unique_ptr<typename Shard::Decider> d, backend::host::ShardRules<T> const& rules, A const* w, long n,
            long begin)
        : shard(std::move(d), rules, w, n, begin) {}
    void owes(int worker, bool owed) {
      if (worker < 0 || worker >= agree::most_replicas || owed_[worker] == owed) return;
      owed_[worker] = owed;
      owed_now_ += owed ? 1 : -1;
      most = std::max(most, owed_now_);
    }
    void forget() { most = owed_now_; }
    std::mutex mutex;
    Shard shard;
    int most = 0;

   private:
    bool owed_[agree::most_replicas]{};
    int owed_now_ = 0;
  };
  template <class Visit> void overlap(int of_way, backend::host::Region region, long offset, long count, Visit visit) {
    long const all = of_.elements(), tensor = offset / all;
    of_.each_piece(of_way, offset % all, count, [&](int s, long there, long here, long n) {
      std::lock_guard lock(at(s).mutex);
      auto& shard = at(s).shard;
      bool const weights = region == backend::host::Region::Weights;
      visit((weights ? shard.weights() : shard.moments() + tensor * shard.count()) + there, here, n);
    });
  }
  Guarded& at(int s) { return *shard_[static_cast<std::size_t>(s)]; }

  Service<F> const& of_;
  int parts_;
  std::vector<std::unique_ptr<Guarded>> shard_;
};

}  // namespace cleave::session
