// parameter_server/server.hpp - the weights of a plan on a parameter server: shards, each with an agreement, one event at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decided_update.hpp"
#include "replica.hpp"

namespace cleave::session {

/// What a shard holds.
template <class A> struct ShardState {
  int version = 0;
  std::vector<A> weights, moments;
};

/// Shards as serving.hpp says.
template <class F> class Server {
 public:
  using T = typename F::T;
  using A = typename F::A;
  using Sent = typename F::Sent;
  using Shard = backend::host::Shard<T, Sent, agree::most_replicas>;
  using Actions = agree::Actions<agree::most_replicas>;
  using State = session::ShardState<A>;
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
      auto decider = of_.follows(s) ? agree::decider<agree::Follower<agree::most_replicas>>(replicas, parts_)
                                    : of_.agreed.decider(replicas, parts_);
      shard_.push_back(std::make_unique<Guarded>(std::move(decider), of_.rules, first, of_.count(s), of_.begin(s)));
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
    double its_rate = 0;
    at(s).shard.hear(
        e, pushed, [&](int newest) { return of_.now(its_rate = rate(newest), newest); }, out);
    at(s).owes(e.worker, false);  // a worker that pushes has what it was sent
    for (agree::Action const& a : out) {
      if (a.what == agree::Done::Grant) at(s).owes(a.worker, true);
    }
    if (of_.in_step() && s == 0) decide(e, out, its_rate);
    then(out, at(s).shard.version());
  }
  /// The newest update of the first shard. Within `look` at it, or under no lock.
  DecidedUpdate const& decided_here() const { return decided_; }
  DecidedUpdate decided() {
    std::lock_guard lock(at(0).mutex);
    return decided_;
  }
  void set_decided(DecidedUpdate const& d) { decided_ = d; }
  /// Within `look` at the shard.
  State held(int s) { return at(s).held(); }
  /// Makes the newest update of the first shard, which is in this process too, in shard s.
  void catch_up(int s) {
    if (of_.follows(s)) follow(s, decided());
  }
  /// Makes an update of the first shard in shard s, if it was not made there before.
  agree::Followed follow(int s, DecidedUpdate const& d) {
    std::lock_guard lock(at(s).mutex);
    return follow_here(s, d);
  }
  /// Copies the newest weights of shard s into a replica; returns their version. All shards are in this process.
  template <class To> int pull(int s, To& to, int worker = -1) {
    catch_up(s);
    std::lock_guard lock(at(s).mutex);
    at(s).owes(worker, false);
    to.take(of_.way(s), of_.begin(s), at(s).shard.sent(), of_.count(s));
    return at(s).shard.version();
  }
  /// A worker has received what it was granted.
  void sent(int s, int worker) { at(s).owes(worker, false); }
  /// The largest number of bytes of weights that shard s owed at once: granted, and not yet taken.
  long most_owed(int s) const {
    return shard_[static_cast<std::size_t>(s)]->most_owed() * of_.count(s) * static_cast<long>(sizeof(Sent));
  }
  void forget_most_owed() {
    for (auto& g : shard_) g->forget_most_owed();
  }
  template <class Visit> void look(int s, Visit visit) {
    std::lock_guard lock(at(s).mutex);
    visit(at(s).shard);
  }
  /// The next update of the first shard is one after which all parts of the server save what they hold.
  void save_next() {
    std::lock_guard lock(at(0).mutex);
    next_.saves = true;
  }
  /// What the shards first, first + apart, ... held after such an update; empty if some have yet to make it.
  std::vector<State> to_save(int first, int apart) {
    std::vector<State> all;
    for (int s = first; s < of_.shards(); s += apart) {
      std::lock_guard lock(at(s).mutex);
      std::optional<State> const& held = at(s).to_save;
      if (!held || (!all.empty() && held->version != all.front().version)) return {};
      all.push_back(*held);
    }
    return all;
  }
  /// It has been saved.
  void have_saved(int version) {
    for (auto& g : shard_) {
      std::lock_guard lock(g->mutex);
      if (g->to_save && g->to_save->version <= version) g->to_save.reset();
    }
  }
  bool has_to_save() {
    return std::any_of(shard_.begin(), shard_.end(), [](auto& g) {
      std::lock_guard lock(g->mutex);
      return g->to_save.has_value();
    });
  }
  /// visit(s, shard) for the shards first, first + apart, ... If they follow a first shard that is among them, all have
  /// the same version.
  template <class Visit> void look_at_all(int first, int apart, Visit visit) {
    std::unique_lock<std::mutex> no_update;
    bool const together = of_.in_step() && first == 0;
    for (int s = first; s < of_.shards(); s += apart) {
      std::unique_lock lock(at(s).mutex);
      if (together && s != 0) follow_here(s, decided_);
      visit(s, at(s).shard);
      if (together && s == 0) no_update = std::move(lock);
    }
  }
  /// Elements [offset, offset + count) of a way's weights, or of its optimizer's tensors one after the other. All
  /// shards are in this process.
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
    decided_ = next_ = {};
  }

 private:
  struct Guarded {
    Guarded(std::unique_ptr<typename Shard::Decider> d, backend::host::ShardRules<T> const& rules, A const* w, long n,
            long begin)
        : shard(std::move(d), rules, w, n, begin) {}
    void owes(int worker, bool owed) {
      std::lock_guard lock(owing);
      if (worker < 0 || worker >= agree::most_replicas || owed_[worker] == owed) return;
      owed_[worker] = owed;
      owed_now_ += owed ? 1 : -1;
      most_ = std::max(most_, owed_now_);
    }
    long most_owed() {
      std::lock_guard lock(owing);
      return most_;
    }
    void forget_most_owed() {
      std::lock_guard lock(owing);
      most_ = owed_now_;
    }
    State held() {
      return {shard.version(),
              {shard.weights(), shard.weights() + shard.count()},
              {shard.moments(), shard.moments() + shard.all_moments()}};
    }
    std::mutex mutex;
    Shard shard;
    std::optional<State> to_save;

   private:
    std::mutex owing;  // below
    bool owed_[agree::most_replicas]{};
    int owed_now_ = 0, most_ = 0;
  };
  template <class Visit> void overlap(int of_way, backend::host::Region region, long offset, long count, Visit visit) {
    long const all = of_.elements(), tensor = offset / all;
    of_.each_piece(of_way, offset % all, count, [&](int s, long there, long here, long n) {
      catch_up(s);
      std::lock_guard lock(at(s).mutex);
      auto& shard = at(s).shard;
      bool const weights = region == backend::host::Region::Weights;
      visit((weights ? shard.weights() : shard.moments() + tensor * shard.count()) + there, here, n);
    });
  }
  /// After an event to the first shard, under its lock: what others are to follow, and owe to those that were granted
  /// it.
  void decide(agree::Event const& e, Actions const& out, double rate) {
    bool grants = false;
    for (agree::Action const& a : out) {
      if (a.what == agree::Done::Take) next_.by.life[a.worker] = e.life;
      if (a.what == agree::Done::Update) {
        next_.by.version = a.version;
        next_.rate = rate;
        decided_ = std::exchange(next_, {});
        if (decided_.saves) at(0).to_save = at(0).held();
      }
      grants = grants || a.what == agree::Done::Grant;
    }
    for (int s = 1; grants && s < of_.shards(); ++s) {
      for (agree::Action const& a : out) {
        if (a.what == agree::Done::Grant) at(s).owes(a.worker, true);
      }
    }
  }
  agree::Followed follow_here(int s, DecidedUpdate const& d) {
    auto const answer = at(s).shard.follow(d.by, [&](int newest) { return of_.now(d.rate, newest); });
    if (answer == agree::Followed::Updates && d.saves) at(s).to_save = at(s).held();
    return answer;
  }
  Guarded& at(int s) { return *shard_[static_cast<std::size_t>(s)]; }

  Service<F> const& of_;
  int parts_;
  std::vector<std::unique_ptr<Guarded>> shard_;
  DecidedUpdate decided_, next_;  // under the first shard's lock
};

}  // namespace cleave::session
