// parameter_server/sandblaster.hpp - L-BFGS over shards and replicas, with a coordinator that holds no parameters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../train/laws.hpp"  // first, so that a refusal names few files

#include "../backend/host/kernels/vectors.hpp"
#include "../optim/sgd.hpp"
#include "../train/untrained.hpp"
#include "crew.hpp"

namespace cleave {

namespace session {

/// Every vector of L-BFGS, cut into the shards of every way: shard s holds [begin(s), end(s)) of way(s) of each. What
/// several ways have all of is counted on the first of them, and is the same on all.
template <class F> class VectorShards {
 public:
  using T = typename F::Sent;
  using A = tensor::accumulate_t<T>;

  /// The point starts as the weights of `start`.
  VectorShards(Serving const& of, int vectors, Replica<F>& start) : of_(of) {
    for (int s = 0; s < of_.shards(); ++s) {
      A const* const weights = start.at(of_.way(s)).weights() + of_.begin(s);
      shard_.push_back(std::make_unique<Guarded>(vectors, weights, of_.count(s), counted(s)));
    }
  }
  /// Results of the shards, added in their order.
  double run(optim::Operation const& o) {
    double sum = 0;
    each([&](int, auto& shard) { sum += shard.run(o); });
    return sum;
  }
  void expect(int portions) {
    each([&](int, auto& shard) { shard.expect(portions); });
  }
  void add(int portion, Hand<F>& from) {
    each([&](int s, auto& shard) { shard.add(portion, from.pushed(of_.way(s), of_.begin(s), of_.end(s))); });
  }
  template <class To> void fetch(To& to) {
    std::vector<T> part;
    each([&](int s, auto& shard) {
      part.resize(static_cast<std::size_t>(shard.count()));
      shard.send(part.data());
      to.take(of_.way(s), of_.begin(s), part.data(), shard.count());
    });
  }
  /// Of all ways, one after the other.
  std::vector<T> whole() {
    std::vector<T> all(static_cast<std::size_t>(of_.elements() * of_.ways()));
    each([&](int s, auto& shard) { shard.send(all.data() + of_.way(s) * of_.elements() + of_.begin(s)); });
    return all;
  }
  /// visit(values, at, count): elements [offset, offset + count) of the point of a way, `at` counted from offset.
  template <class Visit> void each_of_point(int way, long offset, long count, Visit visit) {
    of_.each_piece(way, offset, count, [&](int s, long in_shard, long at, long many) {
      Guarded& g = *shard_[static_cast<std::size_t>(s)];
      std::lock_guard lock(g.mutex);
      visit(g.shard.at(optim::Names::point) + in_shard, at, many);
    });
  }

 private:
  using Vectors = backend::host::Vectors<T>;
  using Counted = std::vector<typename Vectors::Counted>;
  struct Guarded {
    Guarded(int vectors, A const* w, long n, Counted counted) : shard(vectors, w, n, std::move(counted)) {}
    std::mutex mutex;
    Vectors shard;
  };
  Counted counted(int s) const {
    schedule::Program const& p = of_.program();
    Counted out;
    for (int i = 0; i < p.norms; ++i) {
      schedule::OfNorm const& n = p.norm[i];
      if (p.mesh.with_replicas(1).index(of_.way(s), n.alike) != 0) continue;
      long const from = std::max(n.offset, of_.begin(s)), to = std::min(n.offset + n.count, of_.end(s));
      if (from < to) out.push_back({from - of_.begin(s), to - of_.begin(s)});
    }
    return out;
  }
  template <class Visit> void each(Visit visit) {
    for (int s = 0; s < of_.shards(); ++s) {
      Guarded& g = *shard_[static_cast<std::size_t>(s)];
      std::lock_guard lock(g.mutex);
      visit(s, g.shard);
    }
  }
  Serving const& of_;
  std::vector<std::unique_ptr<Guarded>> shard_;
};

}  // namespace session

/// `Sandblaster<Train> trainer(20, 400, seed); trainer.step(feed);` One step is an iteration of L-BFGS over a batch of
/// `portions` times P::batch samples: portion k has the samples of the feed's step k. Parameters, gradient, direction
/// and the `Memory` pairs of the history are on P::shards shards; the coordinator issues operations on them and adds
/// the scalars in the order of the shards. Portions go to whichever replica is free; the bits are the same for any
/// number of replicas. A replica has as many ranks as the model has ways, and each way has shards of its own. Source:
/// Dean et al., "Large scale distributed deep networks", NIPS 2012, section 4.2.
template <class P, int Memory = 10> class Sandblaster {
 public:
  using plan = P;
  using F = session::formats_of<P>;
  using T = typename F::Sent;
  using A = typename F::A;
  using Coordinator = optim::Lbfgs<Memory>;
  using Crew = session::Crew<F, session::VectorShards<F>>;
  using Crash = typename Crew::Crash;

  Sandblaster(int replicas, int portions, std::uint64_t seed = 1,
              std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : Sandblaster(session::near<P>(replicas, seed), portions, seed, deadline) {}
  /// With given replicas: some may be processes (helpers.hpp).
  Sandblaster(session::Hands<P> hands, int portions, std::uint64_t seed = 1,
              std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : portions_(portions),
        seed_(seed),
        evaluator_(session::service<P>, 1, 0, seed),
        shards_(session::service<P>, optim::Names::count(Memory), evaluator_),
        crew_(session::service<P>, std::move(hands), portions, deadline, shards_) {}

  /// One iteration over the steps [first, first + portions) of the feed; returns the loss, a mean over all samples.
  /// After an error the weights are those of the last iteration. The same `first` must have the same samples: their
  /// gradient is kept.
  double step(backend::host::Feed const& feed, long first = 0) {
    if (first != first_) coordinator_.started = false;
    first_ = first;
    crew_.lend(feed, first);
    try {
      converged_ =
          !coordinator_.iterate([this](optim::Operation const& o) { return issue(o); }, [this] { return look(); });
    } catch (...) {
      crew_.lend({});
      throw;
    }
    crew_.lend({});
    if (converged_ && !std::isfinite(coordinator_.slope)) not_finite("gradient");
    iterations_ += !converged_;
    return coordinator_.loss;
  }
  double loss() const { return coordinator_.loss; }
  /// The last step found nothing lower, within the precision of the numbers, and changed nothing.
  bool converged() const { return converged_; }

  /// Mean loss, and accuracy where the feed has labels, over `samples` samples from the feed's start.
  backend::host::Score score(backend::host::Feed const& feed, long samples) {
    shards_.fetch(evaluator_);
    return evaluator_.score(feed, samples);
  }
  /// The share of samples whose largest output is at their label. An Error where the feed has no labels.
  double accuracy(backend::host::Feed const& feed, long samples) { return score(feed, samples).checked_accuracy(); }
  /// Of all ways, one after the other.
  std::vector<T> weights() { return shards_.whole(); }
  /// For checkpoints: the weights of a way. The history is not saved; a resumed run begins a new one.
  void read(int way, backend::host::Region, long offset, long count, A* out) {
    shards_.each_of_point(way, offset, count, [&](A* point, long at, long n) { std::copy_n(point, n, out + at); });
  }
  void write(int way, backend::host::Region, long offset, long count, A const* in) {
    shards_.each_of_point(way, offset, count, [&](A* point, long at, long n) { std::copy_n(in + at, n, point); });
    coordinator_ = {};
  }
  void refresh_copies() {}
  long steps() const { return iterations_; }
  /// The seed of its replicas.
  std::uint64_t seed() const { return seed_; }
  void set_steps(long iterations) { iterations_ = iterations; }

  /// The time after which a portion is late. Default: three times the mean so far, and at least 10 ms. Portions that
  /// are finished meanwhile wait on the shards for their turn: long patience with slow replicas takes memory.
  void set_patience(std::chrono::microseconds patience) { crew_.set_patience(patience); }
  /// Called by each replica when it has computed a gradient, before it is delivered: to delay some, or to kill them by
  /// throwing Crash. Set it while nothing runs.
  void before_finish(std::function<void(int replica, int pass, int portion)> const& hook) {
    crew_.before_finish = hook;
  }
  /// Waits until no replica computes: the last of the portions that were issued again is dropped.
  void rest() { crew_.rest(); }
  /// Restarts a replica that has died.
  void restart(int replica) { crew_.restart(replica); }

  session::CrewLedger ledger() const { return crew_.ledger(); }
  long iterations() const { return iterations_; }
  /// Number of operations issued by the coordinator, each executed by every shard.
  long operations(optim::Verb what) const { return operations_[static_cast<int>(what)]; }
  /// All state of the coordinator: scalars, as many for any model.
  Coordinator const& coordinator() const { return coordinator_; }

 private:
  double issue(optim::Operation const& o) {
    ++operations_[static_cast<int>(o.what)];
    return shards_.run(o);
  }
  double look() {
    shards_.expect(portions_);
    double const loss = crew_.pass();
    if (!coordinator_.started && !std::isfinite(loss)) not_finite("loss");
    return loss;
  }
  [[noreturn]] void not_finite(std::string const& what) const {
    throw Diverged({"step: the ", what, " is not finite at the weights of iteration ", iterations_,
                    "; look for samples that are not, or begin with smaller weights"});
  }

  int portions_;
  std::uint64_t seed_;
  session::Replica<F> evaluator_;
  session::VectorShards<F> shards_;
  Coordinator coordinator_;
  long first_ = 0, iterations_ = 0, operations_[optim::verbs]{};
  bool converged_ = false;
  Crew crew_;  // last: its threads end before what they use
};
template <class P, int Memory>
requires(!plan::legal<P> ||
         !meta::holds<typename session::laws_of_trainers<P>::sandblaster>) class Sandblaster<P, Memory>
    : public session::Untrained<P> {
  static_assert(sizeof(typename session::laws_of_trainers<P>::sandblaster) > 0);

 public:
  using session::Untrained<P>::Untrained;
};

}  // namespace cleave
