// parameter_server/replica.hpp - one replica of a server: the ranks of its model, its part of the batch, its pushes and pulls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "../backend/host/shard.hpp"
#include "../schedule/listing.hpp"
#include "../train/thread_ranks.hpp"

namespace cleave::session {

/// `Ranks` compute: ThreadRanks, or device_ranks.hpp.
template <class P, class Ranks = ThreadRanks<P>> class Replica {
 public:
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  using Sent = backend::host::Pushed<T, P::agreed::change>;
  static constexpr bool steps_itself = P::agreed::change != agree::Change::Step;  // by the plan's optimizer

  /// `parts`: the number of parts of the batch; `first`: the part of this replica, counted on beyond the batch.
  Replica(int parts, int first, std::uint64_t seed)
      : Replica(schedule::Range{first * (P::micro_batches / parts), (first + 1) * (P::micro_batches / parts)}, seed) {}
  /// Its micro-batches of those drawn for a step.
  Replica(schedule::Range own, std::uint64_t seed)
      : request_(own_request(own)),
        layout_(schedule::layout(P::schedule, P::lives, request_, P::format, {1, P::ways})),
        ranks_(layout_, share(own), seed),
        losses_(static_cast<std::size_t>(request_.micro_batches)) {
    if (!steps_itself) ranks_.keep_gradients();
  }

  /// Checks that there is room for `replicas` replicas in this process, each with as many micro-batches.
  static schedule::Range checked_room(schedule::Range own, int replicas) {
    Ranks::check_room(schedule::layout(P::schedule, P::lives, own_request(own), P::format, {1, P::ways}).memory,
                      replicas);
    return own;
  }
  /// Computes one gradient; returns the mean loss of its samples. If pushes are rarer than gradients, updates its
  /// weights.
  double step(long draw, backend::host::Feed const& feed, double rate, long steps) {
    auto const now = optim::now<typename P::optimizer, A>(rate, steps);
    bool const own_steps = !steps_itself && P::agreed::pace.fetch > 1;
    ranks_.train(draw, feed, now, own_steps ? now.rate : A{0},
                 [&](int s, A loss) { losses_[static_cast<std::size_t>(s)] = loss; });
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
    ranks_.trace(steps, around);
    to_trace_ = steps;
  }
  /// Records a span `did` begun at `since`: before the next step, or after the last.
  void note(backend::host::Did did, long since) {
    bool const behind = did == backend::host::Did::Push;
    if (behind ? !traced_ : to_trace_ == 0) return;
    backend::host::Span const s{did, backend::host::Lane::Sums, -1, 0, 0, since, backend::host::Timeline::now()};
    behind ? note(s) : before_.push_back(s);
  }
  backend::host::Timeline const& timeline(int way) { return ranks_.timeline(way); }
  /// Its micro-batches from the next step on begin there; they may extend into the next step's.
  void begin_at(int micro_batch) { ranks_.begin_at(micro_batch); }
  int micro_batches() const { return request_.micro_batches; }
  /// What is pushed: [begin, end) of a way or, if replicas wait, of all ways one after the other. Under Elastic a copy,
  /// which the server moves towards the centre.
  Sent* pushed(int way, long begin, long end) {
    if constexpr (P::agreed::waits && P::ways > 1) {
      together_.resize(static_cast<std::size_t>(P::ways * P::schedule.weight_elements));
      for (int w = 0; w < P::ways; ++w) {
        Sent const* const from = pushed_of(w, 0, P::schedule.weight_elements);
        std::copy_n(from, P::schedule.weight_elements, together_.data() + w * P::schedule.weight_elements);
      }
      return together_.data() + begin;
    } else if constexpr (elastic) {
      move_.resize(static_cast<std::size_t>(P::ways * P::schedule.weight_elements));
      Sent* const copy = move_.data() + way * P::schedule.weight_elements + begin;
      std::copy_n(at(way).weights() + begin, end - begin, copy);
      return copy;
    } else {
      return pushed_of(way, begin, end);
    }
  }
  /// Under Elastic, the answer to a push for [begin, begin + count) of a way. The next gradient is computed with the
  /// weights as pushed, and its step ends with this move: x - rate g(x) - alpha (x - centre).
  void came_back(int way, long begin, Sent const* as, long count) {
    if constexpr (elastic) {
      Sent* const move = move_.data() + way * P::schedule.weight_elements + begin;
      A const* const own = at(way).weights() + begin;
      for (long i = 0; i < count; ++i) move[i] = as[i] - own[i];
      moves_ = true;
    }
  }
  void forget_pushed() {
    if constexpr (!steps_itself) {
      for (int w = 0; w < P::ways; ++w) std::fill_n(at(w).outbox(), P::schedule.weight_elements, A{0});
      ranks_.emptied();
    }
  }
  /// Stores a shard's weights, in the format in which they are sent: [begin, begin + count) as in `pushed`.
  void take(int way, long begin, Sent const* from, long count) {
    moves_ = false;
    if constexpr (P::agreed::waits && P::ways > 1) {
      for (int w = 0; w < P::ways; ++w) {
        take_of(w, 0, from + w * P::schedule.weight_elements, P::schedule.weight_elements);
      }
    } else {
      take_of(way, begin, from, count);
    }
  }
  void refresh_copies() { ranks_.refresh_copies(); }
  /// Seed of dropout.
  void set_seed(std::uint64_t seed) { ranks_.set_seed(seed); }
  /// Throws an error that names the layer whose gradient or weight, about to be pushed, is not finite.
  void check(double loss, int self, long step) {
    std::string const wrong = std::isfinite(loss) ? not_finite() : "the loss";
    if (wrong.empty()) return;
    throw Diverged("replica " + std::to_string(self) + ": " + wrong + " is not finite at step " + std::to_string(step) +
                   ": training has diverged; a smaller learning rate, a longer warm-up or less staleness may help");
  }
  /// The layer; empty if all are.
  std::string not_finite() {
    for (int way = 0; way < P::ways; ++way) {
      A const* const v = steps_itself ? at(way).weights() : at(way).outbox();
      for (int i = 0; i < P::schedule.weights; ++i) {
        schedule::Weight const& w = P::schedule.weight[i];
        A worst = 0;
        for (long k = w.offset; k < w.offset + w.count; ++k) worst += v[k] * 0;
        if (worst == 0) continue;
        place::Signature const& op = P::signatures.op[P::placed.node[w.node].op];
        return "layer " + std::to_string(op.leaf) + " (" + std::string(op.name) + ")";
      }
    }
    return {};
  }
  /// Mean loss, and accuracy where the feed has labels, over `samples` samples from the feed's start.
  backend::host::Score score(backend::host::Feed const& feed, long samples) {
    backend::host::Seen all;
    for (long b = 0; b * P::batch < samples; ++b) all += ranks_.evaluate(b, feed, samples - b * P::batch);
    return backend::host::Score::of(all, feed);
  }
  /// The memory of a way.
  auto& at(int way) { return ranks_.at(way); }
  auto const& at(int way) const { return ranks_.at(way); }
  schedule::Memory memory() const { return layout_.memory; }
  /// Its part of a batch.
  double part() const { return static_cast<double>(request_.micro_batches) / P::micro_batches; }
  /// Elements (or bytes) that a way has sent to the other ways of its replica.
  long sent(int way) const { return ranks_.sent(way); }
  long sent_bytes(int way) const { return ranks_.sent_bytes(way); }

 private:
  static place::Request own_request(schedule::Range own) {
    place::Request r = P::request;
    r.micro_batches = own.size();
    r.portions = {};
    return r;
  }
  schedule::Share share(schedule::Range own) const {
    schedule::Share s = schedule::shared(request_, {1, P::ways});
    s.first = own.begin;
    if (!steps_itself) s.samples = P::batch;
    return s;
  }
  Sent* pushed_of(int way, long begin, long end) {
    A* const from = steps_itself ? at(way).weights() : at(way).outbox();
    if constexpr (std::is_same_v<Sent, A>) {
      return from + begin;
    } else {
      return at(way).wire(from, begin, end - begin);
    }
  }
  void take_of(int way, long begin, Sent const* from, long count) {
    auto& r = at(way);
    bool constexpr masters = steps_itself || !narrow || P::agreed::pace.fetch > 1;
    for (long i = 0; masters && i < count; ++i) r.weights()[begin + i] = static_cast<A>(from[i]);
    if constexpr (narrow) {
      for (long i = 0; i < count; ++i) r.data_weights()[begin + i] = static_cast<T>(from[i]);
    }
    ranks_.took(way, begin, count, masters);
  }

  void add_the_move() {
    if constexpr (elastic) {
      if (!std::exchange(moves_, false)) return;
      for (int way = 0; way < P::ways; ++way) {
        A const* const move = move_.data() + way * P::schedule.weight_elements;
        for (long i = 0; i < P::schedule.weight_elements; ++i) at(way).weights()[i] += move[i];
      }
      refresh_copies();
    }
  }
  void note(backend::host::Span s) {
    s.step = last_;
    if (traced_) ranks_.timeline(0).note(s);
  }

  static constexpr bool narrow = sizeof(T) < sizeof(A), elastic = P::agreed::change == agree::Change::Elastic;
  static constexpr std::size_t around = 8;  // additional spans traced with a step
  place::Request request_;
  schedule::Layout<P::ops::size> layout_;
  Ranks ranks_;
  std::vector<A> losses_;
  std::vector<Sent> together_;  // pushed by several ways as one
  std::vector<Sent> move_;      // under Elastic: what is pushed, then the move that came back
  bool moves_ = false;          // the next step ends with the move
  std::vector<backend::host::Span> before_;
  int to_trace_ = 0;
  bool traced_ = false;  // the last step
  long last_ = 0;
};

}  // namespace cleave::session
