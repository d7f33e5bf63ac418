// parameter_server/served_trainer.hpp - trains any plan around a server: replicas as threads, each of which runs the update that it completes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../backend/host/thread.hpp"
#include "../report/words.hpp"
#include "account.hpp"
#include "pushes.hpp"

namespace cleave::session {

/// The base of `Served<P>` (served.hpp), the same code for all plans of the same formats. Members that are not defined
/// here are in served_replica.hpp; include served.hpp.
template <class F> class ServedTrainer {
 public:
  using Common = ServedTrainer;  // the type by which other code takes such a trainer, whatever its plan
  using T = typename F::T;
  using A = typename F::A;
  using Sent = typename F::Sent;
  static constexpr int most_steps = 4096;  // in one call of train

  ServedTrainer(Service<F> const& of, RanksOf<T> const& ranks, int replicas, std::uint64_t seed,
                std::chrono::milliseconds deadline);
  ~ServedTrainer();
  ServedTrainer(ServedTrainer const&) = delete;
  ServedTrainer& operator=(ServedTrainer const&) = delete;

  Description const& description() const { return *of_.plan; }

  /// Runs the steps [first, first + count) and returns the mean loss of each. On failure throws an error that names the
  /// replica, what it waited for or found, and where; the server then still has the weights of the last update.
  std::vector<double> const& train(long first, int count, backend::host::Feed const& feed, double rate_scale = 1);

  /// Replicas that push less often than they step push what is pending, so that the server's weights include all steps
  /// of the last call of train; then a new interval begins. The last interval of LocalSGD<n> can have fewer than n
  /// steps, the last sum of Downpour fewer gradients. Called before weights are evaluated, read or saved. After a
  /// failed call of train nothing is pushed: the server then has the last update.
  void flush();

  /// Mean loss, and accuracy where the feed has labels, over `samples` samples from the feed's start, of
  /// the server's weights, flushed.
  backend::host::Score score(backend::host::Feed const& feed, long samples);
  /// The share of samples whose largest output is at their label. An Error where the feed has no labels.
  double accuracy(backend::host::Feed const& feed, long samples) { return score(feed, samples).checked_accuracy(); }

  /// Kills a replica: what it has not pushed is lost. The others continue if the agreement permits.
  void kill(int r);
  /// It comes back, with the server's weights.
  void restart(int r);

  /// Called by each replica before it pushes its gradient to each shard: to delay some, or to kill them by throwing
  /// Crash. Set it while nothing runs.
  std::function<void(int replica, long step, int shard)> before_push;
  /// Reports every decision of every shard, in order.
  void observe(std::function<void(int shard, agree::Event const&, agree::Action const&)> told) {
    std::lock_guard lock(post_);
    observe_ = std::move(told);
  }
  struct Crash {};
  /// The version of a shard with which a replica computes its gradient; to be called from before_push.
  int made_with(int r, int shard) const { return one(r).read[static_cast<std::size_t>(shard)]; }

  /// Traces the next `steps` steps of each replica's ranks. Call between two calls of train.
  void trace(int steps);
  std::vector<backend::host::Timeline const*> timelines();

  /// A copy. Between two calls of train, replicas that wait for weights still write how long.
  Ledger ledger() const {
    std::lock_guard lock(post_);
    return books_.ledger;
  }
  /// The largest number of bytes of weights that a shard owed at once: granted to replicas, and not yet taken.
  long most_owed(int shard) const { return server_.most_owed(shard); }
  void forget_most_owed() { server_.forget_most_owed(); }
  long steps() const { return steps_; }
  void set_steps(long steps);
  void set_rate(Rate rate) { books_.rate = rate; }
  /// Sets the seed of dropout; the weights do not change. Call between two calls of train.
  void set_seed(std::uint64_t seed);
  schedule::Ranks ranks() const { return of_.program().mesh.with_replicas(static_cast<int>(crew_.size())); }
  schedule::Memory memory() const { return one(0).replica->memory(); }
  long allocated(int rank) const {
    return static_cast<long>(one(rank / of_.ways()).replica->at(rank % of_.ways()).bytes());
  }
  /// Elements that a rank has sent: to the other ways of its replica, and its share of what was pushed.
  long sent(int rank) const {
    std::size_t const r = static_cast<std::size_t>(rank / of_.ways());
    return ledger().sent[r] / of_.ways() + one(rank / of_.ways()).replica->sent(rank % of_.ways());
  }
  long sent_bytes(int rank) const {
    std::size_t const r = static_cast<std::size_t>(rank / of_.ways());
    return ledger().sent_bytes[r] / of_.ways() + one(rank / of_.ways()).replica->sent_bytes(rank % of_.ways());
  }
  /// Its share of the nonzero rows of sparse gradients that were pushed.
  backend::host::Member::Sparse sent_rows(int rank) const {
    std::lock_guard lock(post_);
    return books_.share_of_rows(rank / of_.ways(), of_.ways());
  }
  /// Seconds that a rank has waited for weights. The share for gradients after its backward pass is not known.
  static std::optional<double> exposed(int) { return {}; }
  std::optional<double> waited(int rank) const { return ledger().waited[static_cast<std::size_t>(rank / of_.ways())]; }
  /// Flushed.
  void read(int way, backend::host::Region region, long offset, long count, A* out);
  void write(int way, backend::host::Region region, long offset, long count, A const* in) {
    server_.write(way, region, offset, count, in);
  }
  void refresh_copies() { server_.refresh_copies(); }
  Replica<F>& replica(int r) { return *one(r).replica; }

 private:
  void end();
  struct One {
    std::unique_ptr<Replica<F>> replica;
    std::thread thread;
    int life = 0;
    bool live = false, killed = false;
    bool resting = false;           // at the gate, with nothing to do
    bool computing = false;         // between the gate and its push
    bool pending = false;           // it has made steps that were not pushed yet
    long draw = 0;                  // what it computes
    std::vector<int> read;          // the versions that it computes with
    typename Pushes<F>::Rows rows;  // the part of its pushes that depends on the data
    std::vector<int> mail;          // the newest version that each shard has granted, -1: none
  };

  One& one(int r) { return *crew_[static_cast<std::size_t>(r)]; }
  One const& one(int r) const { return *crew_[static_cast<std::size_t>(r)]; }
  std::string name(int r) const { return "replica " + std::to_string(r); }

  bool anybody() const {
    return std::any_of(crew_.begin(), crew_.end(), [](auto& o) { return o->live; });
  }
  /// All steps are drawn and pushed; if replicas wait, all have reached the end.
  bool done() const;

  void live(int r);
  void failed(int r, std::string const& why);
  bool dead(int r) {
    std::lock_guard lock(post_);
    return over_ || one(r).killed;
  }

  /// Returns the seconds it took.
  template <class When> double wait(std::unique_lock<std::mutex>& lock, int r, When when, std::string const& what);
  agree::Turn mail(int r, agree::AnyWorker& w);
  /// Waits until there is work; false: it must push what is pending. If replicas wait for each other, a late one may
  /// find newer weights than were granted, and that its step is over.
  bool begin_step(int r, agree::AnyWorker& w, bool fetch);
  agree::Turn push_rest(int r, int life, agree::AnyWorker& w);
  bool take_work(One& o, agree::AnyWorker& w);
  void end_step(int r, agree::AnyWorker const& w, long step, double loss);
  void pull(int r, One& o, agree::AnyWorker& w);
  void push(int r, int life, agree::AnyWorker const& w, agree::Said const& said, double loss);
  void hear(int s, agree::Event const& e, Sent* pushed, double loss);
  void note(int s, agree::Event const& e, typename Server<F>::Actions const& actions, int newest, double loss);

  Service<F> const& of_;
  Pushes<F> pushes_;
  int const shards_;
  bool const waits_;
  std::chrono::milliseconds deadline_;
  Replica<F> evaluator_;
  Server<F> server_;

  mutable std::mutex post_;  // all below; locked after a shard's lock, never before
  std::condition_variable changed_;
  std::vector<std::unique_ptr<One>> crew_;
  Account books_;
  backend::host::Feed feed_;
  std::vector<long> returned_;      // drawn by replicas that died
  long steps_ = 0, from_step_ = 0;  // from_step_: first step of the interval whose weights have version from_version_
  int from_version_ = 0;
  std::chrono::steady_clock::time_point begun_;
  std::function<void(int, agree::Event const&, agree::Action const&)> observe_;
  std::string failure_, broken_;  // thrown by the next call of train; by every call from now on
  int busy_ = 0;                  // replicas that compute
  bool flushing_ = false, over_ = false;
  bool diverged_ = false;  // failure_ says so
};

template <class F>
ServedTrainer<F>::ServedTrainer(Service<F> const& of, RanksOf<T> const& ranks, int replicas, std::uint64_t seed,
                                std::chrono::milliseconds deadline)
    : of_(of),
      pushes_(of),
      shards_(of.shards()),
      waits_(of.waits()),
      deadline_(deadline),
      evaluator_(of, (of.parts(replicas), 1), 0, seed),
      server_(of, replicas, evaluator_),
      books_(of, replicas) {
  Replica<F>::checked_room(of, ranks, of.part(0, replicas), replicas);
  for (int r = 0; r < replicas; ++r) {
    crew_.push_back(std::make_unique<One>());
    one(r).replica = std::make_unique<Replica<F>>(of, ranks, of.part(r, replicas), seed);
    one(r).read.assign(static_cast<std::size_t>(shards_), 0);
    one(r).mail.assign(static_cast<std::size_t>(shards_), -1);
  }
  try {
    for (int r = 0; r < replicas; ++r) restart(r);
  } catch (...) {
    end();
    throw;
  }
}
template <class F>
std::vector<double> const& ServedTrainer<F>::train(long first, int count, backend::host::Feed const& feed,
                                                   double rate_scale) {
  if (count > most_steps) throw Error({"train: at most ", most_steps, " steps in one call, got ", count});
  std::unique_lock lock(post_);
  if (!broken_.empty()) throw Error(broken_);
  if (!anybody() && failure_.empty()) failure_ = "train: no replica lives; restart one";
  books_.open(first, count, rate_scale);
  feed_ = feed;
  begun_ = std::chrono::steady_clock::now();
  for (auto& o : crew_) o->resting = false;
  changed_.notify_all();
  changed_.wait(lock, [&] { return busy_ == 0 && (!failure_.empty() || done()); });
  if (!failure_.empty()) {
    books_.close();
    std::string const why = std::exchange(failure_, {});
    if (std::exchange(diverged_, false)) throw Diverged(why);
    throw Error(why);
  }
  steps_ += count;
  return books_.losses;
}
template <class F> void ServedTrainer<F>::flush() {
  if (of_.pace().push > 1) {
    std::unique_lock lock(post_);
    if (books_.limit() == 0 || !failure_.empty() || !broken_.empty()) return;
    int const before = books_.ledger.versions[0];
    flushing_ = true;
    changed_.notify_all();
    bool some = false;  // something is pending: if replicas wait for each other, this makes an update
    bool const all = changed_.wait_for(lock, deadline_, [&] {
      bool const pending = std::any_of(crew_.begin(), crew_.end(), [](auto& o) { return o->live && o->pending; });
      some = some || pending;
      bool const there = !waits_ || !some || books_.ledger.versions[0] != before;
      return !failure_.empty() || (busy_ == 0 && done() && !pending && there);
    });
    flushing_ = false;
    if (!failure_.empty()) throw Error(std::exchange(failure_, {}));
    if (!all) {
      throw Error({"the last steps of a replica have not been pushed within ", deadline_.count(),
                   " ms; it hangs or is far too slow"});
    }
    if (waits_ && books_.ledger.versions[0] != before) {
      from_step_ = books_.limit();
      from_version_ = books_.ledger.versions[0];
    }
  }
}
template <class F> backend::host::Score ServedTrainer<F>::score(backend::host::Feed const& feed, long samples) {
  flush();
  for (int s = 0; s < shards_; ++s) server_.pull(s, evaluator_);
  return evaluator_.score(feed, samples);
}
template <class F> void ServedTrainer<F>::trace(int steps) {
  std::lock_guard lock(post_);  // resting replicas may still get weights
  for (auto& o : crew_) o->replica->trace(steps);
}
template <class F> std::vector<backend::host::Timeline const*> ServedTrainer<F>::timelines() {
  std::vector<backend::host::Timeline const*> all;
  for (int rank = 0; rank < ranks().world(); ++rank)
    all.push_back(&replica(rank / of_.ways()).timeline(rank % of_.ways()));
  return all;
}
template <class F> void ServedTrainer<F>::set_steps(long steps) {
  server_.set_steps(steps);
  std::lock_guard lock(post_);
  steps_ = steps;
  books_.begin_at(steps);
  from_step_ = steps;
  from_version_ = static_cast<int>(steps / of_.pace().push);
}
template <class F> void ServedTrainer<F>::set_seed(std::uint64_t seed) {
  for (auto& o : crew_) o->replica->set_seed(seed);
}
template <class F> void ServedTrainer<F>::read(int way, backend::host::Region region, long offset, long count, A* out) {
  flush();
  server_.read(way, region, offset, count, out);
}

}  // namespace cleave::session
