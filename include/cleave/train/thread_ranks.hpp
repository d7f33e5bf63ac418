// train/thread_ranks.hpp - the ranks of one replica as threads, which compute its gradients together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <vector>

#include "../backend/host/rank.hpp"
#include "../backend/host/team.hpp"
#include "../lower/host.hpp"

namespace cleave::session {

/// The interface of a replica to its ranks: `layout` is that of one replica and must outlive it, `share` is its part of
/// the batch. device_ranks.hpp is the other implementation.
template <class P> class ThreadRanks {
 public:
  using Rank = backend::host::Rank<typename P::number>;
  using A = typename Rank::A;
  using Feed = backend::host::Feed;

  ThreadRanks(schedule::Layout<P::ops::size> const& layout, schedule::Share const& share, std::uint64_t seed)
      : world_({1, P::ways}, P::schedule.steps), team_(world_), rank_(static_cast<std::size_t>(P::ways)) {
    team_.run([&](int w) {
      rank_[static_cast<std::size_t>(w)] = std::make_unique<Rank>(lower::executable<P>, world_, layout, w, seed, share);
    });
  }

  /// Nothing to check: a lack of memory is reported by the system.
  static void check_room(schedule::Memory const&, int) {}
  /// From now on gradients are added to the push buffers, and weights are updated elsewhere.
  void keep_gradients() {
    for (auto& r : rank_) r->keep_gradients();
    keeps_ = true;
  }
  /// Computes one gradient. With kept gradients it also updates the weights here by plain SGD at `own_rate`. Calls
  /// loss(micro-batch, sum of its samples' losses).
  template <class Loss> void train(long draw, Feed const& feed, optim::Now<A> const& now, A own_rate, Loss loss) {
    world_.check();
    team_.run([&](int w) {
      Rank& r = at(w);
      if (keeps_) r.keep_gradients(own_rate);
      r.train(draw, feed, now);
      r.each_loss(loss);
    });
  }
  backend::host::Seen evaluate(long batch, Feed const& feed, long valid) {
    std::vector<backend::host::Seen> seen(rank_.size());
    team_.run([&](int w) { seen[static_cast<std::size_t>(w)] = at(w).evaluate(batch, feed, valid); });
    backend::host::Seen all;
    for (auto const& s : seen) all += s;
    return all;
  }
  void set_seed(std::uint64_t seed) {
    for (auto& r : rank_) r->set_seed(seed);
  }
  void begin_at(int micro_batch) {
    for (auto& r : rank_) r->begin_at(micro_batch);
  }
  /// The memory of a way, as the last step left it.
  Rank& at(int way) { return *rank_[static_cast<std::size_t>(way)]; }
  Rank const& at(int way) const { return *rank_[static_cast<std::size_t>(way)]; }
  /// [offset, offset + count) of a way's weights, or of their copies alone, has been written.
  void took(int, long, long, bool) {}
  /// The push buffers have been written.
  void emptied() {}
  void refresh_copies() {
    for (auto& r : rank_) r->refresh_copies();
  }
  /// Traces the next `steps` steps, with room for `more` additional spans of each.
  void trace(int steps, std::size_t more) {
    for (auto& r : rank_) r->trace(steps, more);
  }
  backend::host::Timeline& timeline(int way) { return at(way).timeline(); }
  /// Elements (or bytes) that a way has sent to the other ways.
  long sent(int way) const { return total(way, &backend::host::Member::received); }
  long sent_bytes(int way) const { return total(way, &backend::host::Member::received_bytes); }

 private:
  long total(int way, std::vector<long> backend::host::Member::*what) const {
    long sum = 0;
    for (auto const& r : rank_) sum += (r->member().*what)[static_cast<std::size_t>(way)];
    return sum;
  }

  backend::host::World world_;
  backend::host::Team team_;
  std::vector<std::unique_ptr<Rank>> rank_;
  bool keeps_ = false;
};

}  // namespace cleave::session
