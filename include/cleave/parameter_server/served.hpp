// parameter_server/served.hpp - replicas as threads with a parameter server: the thread that pushes runs the shard's update.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "../backend/host/thread.hpp"
#include "../report/words.hpp"
#include "../train/trainer.hpp"
#include "account.hpp"
#include "pushes.hpp"

namespace cleave {

namespace session {

/// The base of `Served<P>`, for all plans of the same formats.
template <class F> class ServedTrainer {
 public:
  using Common = ServedTrainer;  // the type by which other code takes such a trainer, whatever its plan
  using T = typename F::T;
  using A = typename F::A;
  using Sent = typename F::Sent;
  static constexpr int most_steps = 4096;  // in one call of train

  ServedTrainer(Service<F> const& of, RanksOf<T> const& ranks, int replicas, std::uint64_t seed,
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
  ~ServedTrainer() { end(); }
  ServedTrainer(ServedTrainer const&) = delete;
  ServedTrainer& operator=(ServedTrainer const&) = delete;

  Description const& description() const { return *of_.plan; }

  /// Runs the steps [first, first + count) and returns the mean loss of each. On failure throws an error that names the
  /// replica, what it waited for or found, and where; the server then still has the weights of the last update.
  std::vector<double> const& train(long first, int count, backend::host::Feed const& feed, double rate_scale = 1) {
    if (count > most_steps)
      throw Error("train: at most " + std::to_string(most_steps) + " steps in one call, got " + std::to_string(count));
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

  /// Replicas that push less often than they step push what is pending, so that the server's weights include all steps
  /// of the last call of train; then a new interval begins. The last interval of LocalSGD<n> can have fewer than n
  /// steps, the last sum of Downpour fewer gradients. Called before weights are evaluated, read or saved. After a
  /// failed call of train nothing is pushed: the server then has the last update.
  void flush() {
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
        throw Error("the last steps of a replica have not been pushed within " + std::to_string(deadline_.count()) +
                    " ms; it hangs or is far too slow");
      }
      if (waits_ && books_.ledger.versions[0] != before) {
        from_step_ = books_.limit();
        from_version_ = books_.ledger.versions[0];
      }
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

  /// Kills a replica: what it has not pushed is lost. The others continue if the agreement permits.
  void kill(int r) {
    {
      std::lock_guard lock(post_);
      one(r).killed = true;
    }
    changed_.notify_all();
    if (one(r).thread.joinable()) one(r).thread.join();
  }
  /// It comes back, with the server's weights.
  void restart(int r) {
    if (one(r).thread.joinable()) kill(r);
    {
      std::lock_guard lock(post_);
      One& o = one(r);
      o.killed = o.resting = o.computing = o.pending = false;
      o.live = true;
      ++o.life;
      std::fill(o.mail.begin(), o.mail.end(), -1);
    }
    for (int s = 0; s < shards_; ++s) hear(s, {agree::Heard::Joined, r, one(r).life}, nullptr, 0);
    try {
      one(r).thread = backend::host::start_thread([this, r] { live(r); });
    } catch (Error const&) {
      {
        std::lock_guard lock(post_);
        one(r).live = false;
      }
      for (int s = 0; s < shards_; ++s) hear(s, {agree::Heard::Left, r, one(r).life}, nullptr, 0);
      throw;
    }
  }

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
  void trace(int steps) {
    std::lock_guard lock(post_);  // resting replicas may still get weights
    for (auto& o : crew_) o->replica->trace(steps);
  }
  std::vector<backend::host::Timeline const*> timelines() {
    std::vector<backend::host::Timeline const*> all;
    for (int rank = 0; rank < ranks().world(); ++rank)
      all.push_back(&replica(rank / of_.ways()).timeline(rank % of_.ways()));
    return all;
  }

  Ledger const& ledger() const { return books_.ledger; }
  /// The largest number of bytes of weights that a shard owed at once: granted to replicas, and not yet taken.
  long most_owed(int shard) const { return server_.most_owed(shard); }
  void forget_most_owed() { server_.forget_most_owed(); }
  long steps() const { return steps_; }
  void set_steps(long steps) {
    server_.set_steps(steps);
    std::lock_guard lock(post_);
    steps_ = steps;
    books_.begin_at(steps);
    from_step_ = steps;
    from_version_ = static_cast<int>(steps / of_.pace().push);
  }
  void set_rate(Rate rate) { books_.rate = rate; }
  /// Sets the seed of dropout; the weights do not change. Call between two calls of train.
  void set_seed(std::uint64_t seed) {
    for (auto& o : crew_) o->replica->set_seed(seed);
  }
  schedule::Ranks ranks() const { return {static_cast<int>(crew_.size()), of_.ways()}; }
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
  /// Seconds that a rank has waited for weights. The share for gradients after its backward pass is not known.
  static std::optional<double> exposed(int) { return {}; }
  std::optional<double> waited(int rank) const { return ledger().waited[static_cast<std::size_t>(rank / of_.ways())]; }
  /// Flushed.
  void read(int way, backend::host::Region region, long offset, long count, A* out) {
    flush();
    server_.read(way, region, offset, count, out);
  }
  void write(int way, backend::host::Region region, long offset, long count, A const* in) {
    server_.write(way, region, offset, count, in);
  }
  void refresh_copies() { server_.refresh_copies(); }
  Replica<F>& replica(int r) { return *one(r).replica; }

 private:
  void end() {
    {
      std::lock_guard lock(post_);
      over_ = true;
    }
    changed_.notify_all();
    for (auto& o : crew_) {
      if (o->thread.joinable()) o->thread.join();
    }
  }
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
  bool done() const {
    if (waits_) {
      return std::none_of(crew_.begin(), crew_.end(), [](auto& o) { return o->live && !o->resting; });
    } else {
      return books_.all_drawn() && returned_.empty();
    }
  }

  void live(int r) {
    int const life = one(r).life;
    try {
      Replica<F>& mine = *one(r).replica;
      mine.forget_pushed();
      pushes_.forget(mine);
      agree::AnyWorker w = agree::worker(of_.pace(), shards_);
      for (agree::Turn turn = agree::Turn::Nothing;;) {
        while (turn == agree::Turn::Nothing) turn = mail(r, w);
        if (!begin_step(r, w, turn == agree::Turn::Compute)) {
          turn = push_rest(r, life, w);
          continue;
        }
        long const draw = one(r).draw / books_.draws;
        if (books_.draws > 1) mine.begin_at(static_cast<int>(one(r).draw % books_.draws));
        double const loss = mine.step(draw, feed_, books_.rate_of(draw), draw);
        mine.check(loss, r, draw);
        agree::Said const said = w.ready();
        if (said.push) {
          push(r, life, w, said, loss);
        } else if (said.ask) {
          for (int s = 0; s < shards_; ++s) hear(s, {agree::Heard::Asked, r, life}, nullptr, 0);
        }
        turn = said.turn;
        end_step(r, w, draw, loss);
      }
    } catch (Crash const&) {
    } catch (Diverged const& e) {
      std::lock_guard lock(post_);
      diverged_ = diverged_ || failure_.empty();
      failed(r, e.what());
    } catch (std::exception const& e) {
      std::lock_guard lock(post_);
      failed(r, words_of(e));
    }
    {
      std::lock_guard lock(post_);
      One& o = one(r);
      o.live = false;
      if (o.computing) {
        if (!waits_ && o.draw >= 0) returned_.push_back(o.draw);  // another replica computes what it had drawn
        o.computing = false;
        --busy_;
      }
      changed_.notify_all();
      if (over_) return;
    }
    for (int s = 0; s < shards_; ++s) hear(s, {agree::Heard::Left, r, life}, nullptr, 0);
  }
  void failed(int r, std::string const& why) {
    if (failure_.empty()) failure_ = why;
    one(r).draw = -1;
  }
  bool dead(int r) {
    std::lock_guard lock(post_);
    return over_ || one(r).killed;
  }

  /// Returns the seconds it took.
  template <class When> double wait(std::unique_lock<std::mutex>& lock, int r, When when, std::string const& what) {
    auto const begin = std::chrono::steady_clock::now();
    for (;;) {
      if (over_ || one(r).killed) throw Crash{};
      if (when()) return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      changed_.wait_for(lock, std::chrono::milliseconds(200));
      if (!what.empty() && books_.limit() > 0 && !done() &&
          std::chrono::steady_clock::now() - std::max(begin, begun_) > deadline_) {
        throw Error(name(r) + " waited " + std::to_string(deadline_.count()) + " ms for " + what +
                    "; another replica hangs or is far too slow");
      }
    }
  }
  agree::Turn mail(int r, agree::AnyWorker& w) {
    long const since = backend::host::Timeline::now();
    std::unique_lock lock(post_);
    auto const there = [&] {
      return std::any_of(one(r).mail.begin(), one(r).mail.end(), [](int m) { return m >= 0; });
    };
    books_.ledger.waited[static_cast<std::size_t>(r)] +=
        wait(lock, r, there, "weights newer than version " + std::to_string(w.weights_of(0)));
    agree::Turn turn = agree::Turn::Nothing;
    for (int s = 0; s < shards_; ++s) {
      if (one(r).mail[static_cast<std::size_t>(s)] < 0) continue;
      agree::Turn const t = w.granted(s, std::exchange(one(r).mail[static_cast<std::size_t>(s)], -1));
      if (t != agree::Turn::Nothing) turn = t;
    }
    one(r).replica->note(backend::host::Did::Wait, since);
    return turn;
  }
  /// Waits until there is work; false: it must push what is pending. If replicas wait for each other, a late one may
  /// find newer weights than were granted, and that its step is over.
  bool begin_step(int r, agree::AnyWorker& w, bool fetch) {
    One& o = one(r);
    for (;;) {
      {
        std::unique_lock lock(post_);
        bool flushes = false;
        auto const there_is_work = [&] {
          if (take_work(o, w)) return true;
          return flushes = flushing_ && o.pending && failure_.empty();
        };
        wait(lock, r, there_is_work, {});
        if (flushes) return false;
        ++busy_;
        o.computing = true;
      }
      if (fetch) pull(r, o, w);
      for (int s = 0; s < shards_; ++s) o.read[static_cast<std::size_t>(s)] = w.weights_of(s);
      if (!waits_) return true;
      std::lock_guard lock(post_);
      o.draw = w.step();
      if (o.draw < books_.limit()) return true;
      o.computing = false;
      --busy_;
    }
  }
  agree::Turn push_rest(int r, int life, agree::AnyWorker& w) {
    agree::Said const said = w.flush();
    push(r, life, w, said, 0);
    std::lock_guard lock(post_);
    one(r).pending = false;
    changed_.notify_all();
    return said.turn;
  }
  bool take_work(One& o, agree::AnyWorker& w) {
    if (!failure_.empty()) return false;
    w.from_step = static_cast<int>(from_step_);
    w.from_version = from_version_;
    if (waits_) {
      o.resting = w.step() >= books_.limit();
      if (o.resting) changed_.notify_all();
      return !o.resting;
    }
    if (!returned_.empty()) {
      o.draw = returned_.back();
      returned_.pop_back();
      return true;
    }
    if (books_.all_drawn()) return false;
    o.draw = books_.draw(o.replica->micro_batches());
    return true;
  }
  void end_step(int r, agree::AnyWorker const& w, long step, double loss) {
    std::lock_guard lock(post_);
    One& o = one(r);
    o.pending = w.pending();
    books_.made(step, loss, o.replica->part());
    o.computing = false;
    --busy_;
    changed_.notify_all();
  }
  void pull(int r, One& o, agree::AnyWorker& w) {
    if (of_.elastic() && w.computed > 0) return;  // it has been moved by its push
    long const since = backend::host::Timeline::now();
    for (int s = 0; s < shards_; ++s) {
      w.version[static_cast<std::size_t>(s)] = server_.pull(s, *o.replica, r) + 1;
    }
    if (of_.steps_itself()) o.replica->refresh_copies();
    o.replica->note(backend::host::Did::Pull, since);
  }
  void push(int r, int life, agree::AnyWorker const& w, agree::Said const& said, double loss) {
    Replica<F>& mine = *one(r).replica;
    long const since = backend::host::Timeline::now();
    pushes_.encode(mine);
    for (int s = 0; s < shards_; ++s) {
      if (before_push) before_push(r, one(r).draw / books_.draws, s);
      if (dead(r)) throw Crash{};
      one(r).rows = pushes_.rows(mine, s);
      auto* const pushed = mine.pushed(of_.way(s), of_.begin(s), of_.end(s));
      hear(s, {agree::Heard::Pushed, r, life, w.weights_of(s), said.count, said.ask}, pushed, loss);
      mine.came_back(of_.way(s), of_.begin(s), pushed, of_.count(s));
    }
    mine.forget_pushed();
    mine.note(backend::host::Did::Push, since);
  }
  void hear(int s, agree::Event const& e, Sent* pushed, double loss) {
    server_.hear(
        s, e, pushed, [&](long update) { return books_.rate_of(update * of_.pace().push); },
        [&](auto const& actions, int newest) { note(s, e, actions, newest, loss); });
  }
  void note(int s, agree::Event const& e, typename Server<F>::Actions const& actions, int newest, double loss) {
    std::lock_guard lock(post_);
    bool mailed = false;
    if (e.what == agree::Heard::Pushed) books_.pushed(s, e.worker, one(e.worker).rows);
    for (agree::Action const& a : actions) {
      if (observe_) observe_(s, e, a);
      books_.decided(s, e, a, loss, one(e.worker).replica->part());
      switch (a.what) {
        case agree::Done::Grant: {
          int& granted = one(a.worker).mail[static_cast<std::size_t>(s)];
          granted = std::max(granted, a.version);
          mailed = true;
          break;
        }
        case agree::Done::Fail:
          if (!failure_.empty() || over_) break;
          if (!waits_ && (done() || anybody())) break;  // no replica is needed, or one is coming
          failure_ = "shard " + std::to_string(s) + " at version " + std::to_string(newest) + ": " + name(a.worker) +
                     " has left and " + std::to_string(a.version) + " replicas live, where an update needs " +
                     std::to_string(server_.parts()) + "; restart from the last checkpoint, or say more Spares";
          if (waits_) broken_ = failure_;  // its agreement does not count any more
          mailed = true;
          break;
        default:
          break;  // in the books
      }
    }
    if (mailed) changed_.notify_all();
  }

  Service<F> const& of_;
  Pushes<F> pushes_;
  int const shards_;
  bool const waits_;
  std::chrono::milliseconds deadline_;
  Replica<F> evaluator_;
  Server<F> server_;

  std::mutex post_;  // all below; locked after a shard's lock, never before
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

}  // namespace session

/// `Served<Train> trainer(20, seed); trainer.train(0, 100, feed);` A plan whose replicas agree through a server. A step
/// is an update if replicas wait for each other, else one gradient of one replica. Between two calls of train every
/// replica rests. At most 64 replicas. `Ranks` of each compute: threads, or device_ranks.hpp; the server is on the
/// host.
template <class P, class Ranks = session::ThreadRanks<P>>
class Served : public session::ServedTrainer<session::formats_of<P>> {
 public:
  using plan = P;

  explicit Served(int replicas, std::uint64_t seed = 1, std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : session::ServedTrainer<session::formats_of<P>>(session::service<P>, session::ranks_by<P, Ranks>, replicas, seed,
                                                       deadline) {}
};
template <class P, class Ranks>
requires(!plan::legal<P>) class Served<P, Ranks> : public session::Untrained<P> {
 public:
  using session::Untrained<P>::Untrained;
};

namespace session {
/// The trainer of a plan.
template <class P> using trainer_of = std::conditional_t<P::served, Served<P>, Trainer<P>>;
}  // namespace session

}  // namespace cleave
