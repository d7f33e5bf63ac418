// parameter_server/replica.hpp - one replica of a server: the ranks of its model, its part of the batch, its pushes and pulls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "serving.hpp"

namespace cleave::session {

/// The weights' place in memory is that of its ranks, which are threads or others.
template <class F> class Replica {
 public:
  using T = typename F::T;
  using A = typename F::A;
  using Sent = typename F::Sent;

  /// `parts`: the number of parts of the batch; `first`: the part of this replica, counted on beyond the batch.
  Replica(Service<F> const& of, int parts, int first, std::uint64_t seed)
      : Replica(of, schedule::Range{first * (of.micro_batches() / parts), (first + 1) * (of.micro_batches() / parts)},
                seed) {}
  /// Its micro-batches of those drawn for a step.
  Replica(Service<F> const& of, schedule::Range own, std::uint64_t seed) : Replica(of, of.threads, own, seed) {}
  Replica(Service<F> const& of, RanksOf<T> const& ranks, schedule::Range own, std::uint64_t seed)
      : of_(of),
        request_(own_request(of, own)),
        layout_(schedule::runtime_layout(of.program(), request_, of.program().mesh.with_replicas(1))),
        ranks_(ranks.make(layout_, share(own), seed)),
        losses_(static_cast<std::size_t>(request_.micro_batches)) {
    if (!of_.steps_itself()) ranks_->keep_gradients();
  }
  Replica(Replica const&) = delete;
  Replica& operator=(Replica const&) = delete;

  /// Checks that there is room for `replicas` replicas in this process, each with as many micro-batches.
  static schedule::Range checked_room(Service<F> const& of, RanksOf<T> const& ranks, schedule::Range own,
                                      int replicas) {
    ranks.check_room(
        schedule::runtime_layout(of.program(), own_request(of, own), of.program().mesh.with_replicas(1)).memory,
        replicas);
    return own;
  }
  /// Computes one gradient; returns the mean loss of its samples. If pushes are rarer than gradients, updates its
  /// weights.
  double step(long draw, backend::host::Feed const& feed, double rate, long steps) {
    auto const now = of_.now(rate, steps);
    bool const own_steps = !of_.steps_itself() && of_.pace().fetch > 1;
    ranks_->train(draw, feed, now, own_steps ? now.rate : A{0}, losses_.data());
    add_the_move();
    double sum = 0;
    for (A l : losses_) sum += static_cast<double>(l);
    traced_ = to_trace_ > 0;
    to_trace_ -= traced_;
    last_ = draw;
    for (backend::host::Span const& s : std::exchange(before_, {})) note(s);
    return sum / static_cast<double>(long{request_.micro_batches} * request_.rows);
  }
  /// Traces the next `steps` steps and, as they are reported, what is done between them.
  void trace(int steps) {
    ranks_->trace(steps, around);
    to_trace_ = steps;
  }
  /// Records a span `did` begun at `since`: before the next step, or after the last.
  void note(backend::host::Did did, long since) {
    bool const behind = did == backend::host::Did::Push;
    if (behind ? !traced_ : to_trace_ == 0) return;
    backend::host::Span const s{did, backend::host::Lane::Sums, -1, 0, 0, since, backend::host::Timeline::now()};
    behind ? note(s) : before_.push_back(s);
  }
  backend::host::Timeline const& timeline(int way) { return ranks_->timeline(way); }
  /// Its micro-batches from the next step on begin there; they may extend into the next step's.
  void begin_at(int micro_batch) { ranks_->begin_at(micro_batch); }
  int micro_batches() const { return request_.micro_batches; }
  /// What is pushed: [begin, end) of a way or, of one shard for all ways, of these one after the other. Under Elastic a
  /// copy, which the server moves towards the centre.
  Sent* pushed(int way, long begin, long end) {
    if (of_.whole() && of_.ways() > 1) {
      together_.resize(static_cast<std::size_t>(of_.ways() * of_.elements()));
      for (int w = 0; w < of_.ways(); ++w) {
        Sent const* const from = pushed_of(w, 0, of_.elements());
        std::copy_n(from, of_.elements(), together_.data() + w * of_.elements());
      }
      return together_.data() + begin;
    }
    if constexpr (std::is_same_v<Sent, A>) {
      if (!of_.elastic()) return pushed_of(way, begin, end);
      move_.resize(static_cast<std::size_t>(of_.ways() * of_.elements()));
      Sent* const copy = move_.data() + way * of_.elements() + begin;
      std::copy_n(at(way).weights() + begin, end - begin, copy);
      return copy;
    }
    return pushed_of(way, begin, end);
  }
  /// Under Elastic, the answer to a push for [begin, begin + count) of a way. The next gradient is computed with the
  /// weights as pushed, and its step ends with this move: x - rate g(x) - alpha (x - centre).
  void came_back(int way, long begin, Sent const* as, long count) {
    if (!of_.elastic()) return;
    A* const move = move_.data() + way * of_.elements() + begin;
    A const* const own = at(way).weights() + begin;
    for (long i = 0; i < count; ++i) move[i] = static_cast<A>(as[i]) - own[i];
    moves_ = true;
  }
  void forget_pushed() {
    if (!of_.steps_itself()) {
      for (int w = 0; w < of_.ways(); ++w) std::fill_n(at(w).outbox(), of_.elements(), A{0});
      ranks_->emptied();
    }
  }
  /// Stores a shard's weights, in the format in which they are sent: [begin, begin + count) as in `pushed`.
  void take(int way, long begin, Sent const* from, long count) {
    moves_ = false;
    if (of_.whole() && of_.ways() > 1) {
      for (int w = 0; w < of_.ways(); ++w) {
        take_of(w, 0, from + w * of_.elements(), of_.elements());
      }
    } else {
      take_of(way, begin, from, count);
    }
  }
  void refresh_copies() { ranks_->refresh_copies(); }
  /// Seed of dropout.
  void set_seed(std::uint64_t seed) { ranks_->set_seed(seed); }
  /// Throws an error that names the layer whose gradient or weight, about to be pushed, is not finite.
  void check(double loss, int self, long step) {
    std::string const wrong = std::isfinite(loss) ? not_finite() : "the loss";
    if (wrong.empty()) return;
    throw Diverged({"replica ", self, ": ", wrong, " is not finite at step ", step,
                    ": training has diverged; a smaller learning rate, a longer warm-up or less staleness may help"});
  }
  /// The layer; empty if all are.
  std::string not_finite() {
    for (int way = 0; way < of_.ways(); ++way) {
      A const* const v = of_.steps_itself() ? at(way).weights() : at(way).outbox();
      for (int i = 0; i < of_.program().weights; ++i) {
        schedule::Weight const& w = of_.program().weight[i];
        A worst = 0;
        for (long k = w.offset; k < w.offset + w.count; ++k) worst += v[k] * 0;
        if (worst == 0) continue;
        schedule::ProgramNode const& op = of_.program().node[w.node];
        return "layer " + std::to_string(op.leaf) + " (" + std::string(op.name) + ")";
      }
    }
    return {};
  }
  /// Mean loss, and accuracy where the feed has labels, over `samples` samples from the feed's start.
  backend::host::Score score(backend::host::Feed const& feed, long samples) {
    backend::host::Seen all;
    for (long b = 0; b * of_.plan->batch < samples; ++b)
      all += ranks_->evaluate(b, feed, samples - b * of_.plan->batch);
    return backend::host::Score::of(all, feed);
  }
  /// The memory of a way.
  backend::host::Arena<T>& at(int way) { return ranks_->at(way); }
  backend::host::Arena<T> const& at(int way) const { return ranks_->at(way); }
  schedule::Memory memory() const { return layout_.memory; }
  /// Its part of a batch.
  double part() const { return static_cast<double>(request_.micro_batches) / of_.micro_batches(); }
  /// Elements (or bytes) that a way has sent to the other ways of its replica.
  long sent(int way) const { return ranks_->sent(way); }
  long sent_bytes(int way) const { return ranks_->sent_bytes(way); }

 private:
  static place::Request own_request(Serving const& of, schedule::Range own) {
    place::Request r = of.plan->request;
    r.micro_batches = own.size();
    r.portions = {};
    return r;
  }
  schedule::Share share(schedule::Range own) const {
    schedule::Share s = schedule::shared(request_, of_.program().mesh.with_replicas(1));
    s.first = own.begin;
    if (!of_.steps_itself()) s.samples = of_.plan->batch;
    return s;
  }
  Sent* pushed_of(int way, long begin, long end) {
    A* const from = of_.steps_itself() ? at(way).weights() : at(way).outbox();
    if constexpr (std::is_same_v<Sent, A>) {
      return from + begin;
    } else {
      return at(way).wire(from, begin, end - begin);
    }
  }
  void take_of(int way, long begin, Sent const* from, long count) {
    auto& r = at(way);
    bool const masters = of_.steps_itself() || !narrow || of_.pace().fetch > 1;
    for (long i = 0; masters && i < count; ++i) r.weights()[begin + i] = static_cast<A>(from[i]);
    if constexpr (narrow) {
      for (long i = 0; i < count; ++i) r.data_weights()[begin + i] = static_cast<T>(from[i]);
    }
    ranks_->took(way, begin, count, masters);
  }

  void add_the_move() {
    if (!of_.elastic() || !std::exchange(moves_, false)) return;
    for (int way = 0; way < of_.ways(); ++way) {
      A const* const move = move_.data() + way * of_.elements();
      A* const own = at(way).weights();
      for (long i = 0; i < of_.elements(); ++i) own[i] += move[i];
    }
    refresh_copies();
  }
  void note(backend::host::Span s) {
    s.step = last_;
    if (traced_) ranks_->timeline(0).note(s);
  }

  static constexpr bool narrow = sizeof(T) < sizeof(A);
  static constexpr std::size_t around = 8;  // additional spans traced with a step
  Service<F> const& of_;
  place::Request request_;
  schedule::RuntimeLayout layout_;
  std::unique_ptr<ReplicaRanks<T>> ranks_;
  std::vector<A> losses_;
  std::vector<Sent> together_;  // pushed by several ways as one
  std::vector<A> move_;         // under Elastic: what is pushed, then the move that came back
  bool moves_ = false;          // the next step ends with the move
  std::vector<backend::host::Span> before_;
  int to_trace_ = 0;
  bool traced_ = false;  // the last step
  long last_ = 0;
};

}  // namespace cleave::session
