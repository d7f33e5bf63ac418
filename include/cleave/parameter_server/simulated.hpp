// parameter_server/simulated.hpp - replicas of a server on a virtual clock: real gradients, simulated times.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "../train/untrained.hpp"
#include "account.hpp"
#include "pushes.hpp"

namespace cleave {

namespace session {

/// The base of `Simulated<P>`, for all plans of the same formats.
template <class F> class SimulatedTrainer {
 public:
  using Common = SimulatedTrainer;  // the type by which other code takes such a trainer, whatever its plan
  using A = typename F::A;

  Description const& description() const { return *of_.plan; }
  /// Seconds that replica r needs for its gradient of a step.
  std::function<double(int r, long step)> delay = [](int, long) { return 1.0; };
  /// Reports every decision of every shard, in order.
  std::function<void(int shard, agree::Event const&, agree::Action const&)> told;

  SimulatedTrainer(Service<F> const& of, int replicas, std::uint64_t seed)
      : of_(of),
        pushes_(of),
        shards_(of.shards()),
        waits_(of.waits()),
        evaluator_(of, (of.parts(replicas), 1), 0, seed),
        server_(of, replicas, evaluator_),
        crew_(static_cast<std::size_t>(replicas)),
        books_(of, replicas) {
    for (int r = 0; r < replicas; ++r) {
      one(r).replica = std::make_unique<Replica<F>>(of, of.part(r, replicas), seed);
      one(r).worker = of.worker();
      one(r).mail.assign(static_cast<std::size_t>(shards_), -1);
      one(r).replica->forget_pushed();
    }
    for (int s = 0; s < shards_; ++s) {
      for (int r = 0; r < replicas; ++r) hear(s, {agree::Heard::Joined, r, 1}, nullptr, 0);
    }
  }

  /// Runs the steps [first, first + count) and returns the mean loss of each, like Served. Replicas that are late for
  /// the last of them are late in the next call.
  std::vector<double> const& train(long first, int count, backend::host::Feed const& feed, double rate_scale = 1) {
    books_.open(first, count, rate_scale);
    feed_ = feed;
    for (int r = 0; r < replicas(); ++r) {
      if (one(r).turn != agree::Turn::Nothing) begin(r);
    }
    deliver();
    while (!coming_.empty() && !(waits_ && reached() >= books_.limit())) {
      Coming const next = coming_.top();
      coming_.pop();
      now_ = next.at;
      ready(next.replica);
      deliver();
    }
    return books_.losses;
  }
  /// Seconds since the start.
  double now() const { return now_; }
  /// Like Served::flush; it takes no time.
  void flush() {
    if (of_.pace().push > 1) {
      int const before = ledger().versions[0];
      for (int r = 0; r < replicas(); ++r) {
        One& o = one(r);
        if (o.computing || !o.worker.pending()) continue;
        agree::Said const said = o.worker.flush();
        push(r, said);
        o.turn = said.turn;
      }
      if (waits_ && ledger().versions[0] != before) {
        for (One& o : crew_) {
          o.worker.from_step = static_cast<int>(books_.limit());
          o.worker.from_version = ledger().versions[0];
        }
      }
      deliver();
    }
  }
  /// Mean loss, and accuracy where the feed has labels, over `samples` samples from the feed's start, of
  /// the server's weights, flushed.
  backend::host::Score score(backend::host::Feed const& feed, long samples) {
    flush();
    for (int s = 0; s < shards_; ++s) server_.pull(s, evaluator_);
    return evaluator_.score(feed, samples);
  }
  /// The share of samples whose largest output is at their label. An Error where the feed has no labels.
  double accuracy(backend::host::Feed const& feed, long samples) { return score(feed, samples).checked_accuracy(); }
  void set_rate(Rate rate) { books_.rate = rate; }
  void read(int way, backend::host::Region region, long offset, long count, A* out) {
    flush();
    server_.read(way, region, offset, count, out);
  }
  Ledger const& ledger() const { return books_.ledger; }
  /// As for Served: the largest number of bytes that a shard owed at once, since the start or the last reset.
  long most_owed(int shard) const { return server_.most_owed(shard); }
  void forget_most_owed() { server_.forget_most_owed(); }
  int replicas() const { return static_cast<int>(crew_.size()); }

 private:
  struct One {
    std::unique_ptr<Replica<F>> replica;
    agree::AnyWorker worker;
    std::vector<int> mail;  // the newest version that each shard has granted, -1: none
    long draw = 0;
    double loss = 0, idle_since = 0;
    typename Pushes<F>::Rows rows;  // the part of its pushes that depends on the data
    bool computing = false;
    agree::Turn turn = agree::Turn::Nothing;  // of a resting replica
  };
  struct Coming {
    double at;
    long cause;
    int replica;
    bool operator<(Coming const& o) const { return at != o.at ? at > o.at : cause > o.cause; }
  };
  One& one(int r) { return crew_[static_cast<std::size_t>(r)]; }

  /// Delivers grants to replicas that can take them.
  void deliver() {
    for (int r = 0; r < replicas(); ++r) {
      One& o = one(r);
      if (o.computing || o.turn != agree::Turn::Nothing) continue;
      for (int s = 0; s < shards_; ++s) {
        int const granted = o.mail[static_cast<std::size_t>(of_.decided_by(s))];
        if (granted < 0) continue;
        agree::Turn const t = o.worker.granted(s, granted);
        if (t != agree::Turn::Nothing) o.turn = t;
      }
      std::fill(o.mail.begin(), o.mail.end(), -1);
      if (o.turn != agree::Turn::Nothing) begin(r);
    }
  }
  /// Takes weights and computes the gradient, which will be ready later; rests if there is nothing left to do.
  void begin(int r) {
    One& o = one(r);
    bool const fetch = o.turn == agree::Turn::Compute;
    bool const moved = of_.elastic() && o.worker.computed > 0;
    long const step = o.worker.step();
    if (waits_ ? step >= books_.limit() : books_.all_drawn()) return;
    o.draw = waits_ ? step : books_.draw(o.replica->micro_batches());
    for (int s = 0; s < shards_ && fetch && !moved; ++s)
      o.worker.version[static_cast<std::size_t>(s)] = server_.pull(s, *o.replica, r) + 1;
    if (fetch && of_.steps_itself()) o.replica->refresh_copies();
    if (books_.draws > 1) o.replica->begin_at(static_cast<int>(o.draw % books_.draws));
    o.draw /= books_.draws;
    o.loss = o.replica->step(o.draw, feed_, books_.rate_of(o.draw), o.draw);
    o.replica->check(o.loss, r, o.draw);
    books_.ledger.waited[static_cast<std::size_t>(r)] += now_ - o.idle_since;
    o.turn = agree::Turn::Nothing;
    o.computing = true;
    double const takes = delay(r, o.draw);
    if (!(takes >= 0)) throw Error({"delay(", r, ", ", o.draw, ") is no time"});
    coming_.push({now_ + takes, ++causes_, r});
  }
  void ready(int r) {
    One& o = one(r);
    agree::Said const said = o.worker.ready();
    books_.made(o.draw, o.loss, o.replica->part());
    if (said.push) {
      push(r, said);
    } else if (said.ask) {
      for (int s = 0; s < shards_; ++s) hear(s, {agree::Heard::Asked, r, 1}, nullptr, 0);
    }
    o.computing = false;
    o.idle_since = now_;
    o.turn = said.turn;
    if (o.turn != agree::Turn::Nothing) begin(r);
  }
  void push(int r, agree::Said const& said) {
    One& o = one(r);
    pushes_.encode(*o.replica);
    for (int k = 0; k < shards_; ++k) {
      int const s = of_.pushed_at(k);
      o.rows = pushes_.rows(*o.replica, s);
      auto* const pushed = o.replica->pushed(of_.way(s), of_.begin(s), of_.end(s));
      hear(s, {agree::Heard::Pushed, r, 1, o.worker.weights_of(of_.decided_by(s)), said.count, said.ask}, pushed,
           o.loss);
      o.replica->came_back(of_.way(s), of_.begin(s), pushed, of_.count(s));
    }
    o.replica->forget_pushed();
  }
  /// The steps that all have made, if they wait for each other.
  long reached() const {
    agree::AnyWorker const& w = crew_.front().worker;
    return w.from_step + (ledger().versions[0] - w.from_version) * long{of_.pace().push};
  }
  void hear(int s, agree::Event const& e, typename F::Sent* pushed, double loss) {
    server_.hear(
        s, e, pushed, [&](long update) { return books_.rate_of(update * of_.pace().push); },
        [&](auto const& actions, int) { note(s, e, actions, loss); });
  }
  void note(int s, agree::Event const& e, typename Server<F>::Actions const& actions, double loss) {
    if (e.what == agree::Heard::Pushed) books_.pushed(s, e.worker, one(e.worker).rows);
    for (agree::Action const& a : actions) {
      if (told) told(s, e, a);
      books_.decided(s, e, a, loss, one(e.worker).replica->part());
      if (a.what != agree::Done::Grant) continue;
      int& granted = one(a.worker).mail[static_cast<std::size_t>(s)];
      granted = std::max(granted, a.version);
    }
  }

  Service<F> const& of_;
  Pushes<F> pushes_;
  int const shards_;
  bool const waits_;
  Replica<F> evaluator_;
  Server<F> server_;
  std::vector<One> crew_;
  Account books_;
  double now_ = 0;
  backend::host::Feed feed_;
  std::priority_queue<Coming> coming_;
  long causes_ = 0;
};

}  // namespace session

/// `Simulated<Train> trainer(20, seed); trainer.delay = ...; trainer.train(0, 100, feed); trainer.now()`. Does what
/// Served does with threads, one event after the other: a gradient of replica r takes delay(r, step) seconds, a message
/// none. Protocol, server and arithmetic are the real ones, so that a plan can be tried with stragglers that are not
/// available; seed and delays determine every bit. Simultaneous events happen in the order of their causes.
template <class P> class Simulated : public session::SimulatedTrainer<session::formats_of<P>> {
 public:
  using plan = P;

  explicit Simulated(int replicas, std::uint64_t seed = 1)
      : session::SimulatedTrainer<session::formats_of<P>>(session::service<P>, replicas, seed) {}
};
template <class P>
requires(!plan::legal<P> || !P::served) class Simulated<P> : public session::Untrained<P> {
  static_assert(sizeof(typename session::laws_of_trainers<P>::simulated) > 0);

 public:
  using session::Untrained<P>::Untrained;
};

}  // namespace cleave
