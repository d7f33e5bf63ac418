// train/thread_ranks.hpp - the ranks of one replica as threads, which compute its gradients together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <vector>

#include "../backend/host/rank.hpp"
#include "../backend/host/team.hpp"
#include "../lower/host.hpp"

namespace cleave::session {

/// The ranks of a replica, as it sees them: threads, or streams of a device (device_ranks.hpp).
template <class T> class ReplicaRanks {
 public:
  using Way = backend::host::Arena<T>;
  using A = typename Way::A;
  using Feed = backend::host::Feed;

  ReplicaRanks() = default;
  virtual ~ReplicaRanks() = default;
  ReplicaRanks(ReplicaRanks const&) = delete;
  ReplicaRanks& operator=(ReplicaRanks const&) = delete;
  /// From now on gradients are added to the push buffers, and weights are updated elsewhere.
  virtual void keep_gradients() = 0;
  /// Computes one gradient. With kept gradients it also updates the weights here by plain SGD at `own_rate`. Writes
  /// losses[micro-batch], the sum of its samples' losses.
  virtual void train(long draw, Feed const& feed, optim::Now<A> const& now, A own_rate, A* losses) = 0;
  virtual backend::host::Seen evaluate(long batch, Feed const& feed, long valid) = 0;
  virtual void set_seed(std::uint64_t seed) = 0;
  virtual void begin_at(int micro_batch) = 0;
  /// The memory of a way, as the last step left it.
  virtual Way& at(int way) = 0;
  /// [offset, offset + count) of a way's weights, or of their copies alone, has been written.
  virtual void took(int way, long offset, long count, bool masters) = 0;
  /// The push buffers have been written.
  virtual void emptied() = 0;
  virtual void refresh_copies() = 0;
  /// Traces the next `steps` steps, with room for `more` additional spans of each.
  virtual void trace(int steps, std::size_t more) = 0;
  virtual backend::host::Timeline& timeline(int way) = 0;
  /// Elements (or bytes) that a way has sent to the other ways.
  virtual long sent(int way) const = 0;
  virtual long sent_bytes(int way) const = 0;
};

/// How to make them. `layout` is that of one replica and must outlive them, `share` is its part of the batch.
template <class T> struct RanksOf {
  void (*check_room)(schedule::Memory const& each, int replicas) = nullptr;
  std::unique_ptr<ReplicaRanks<T>> (*make)(schedule::LayoutView const& layout, schedule::Share const& share,
                                           std::uint64_t seed) = nullptr;
};
template <class P, class Ranks> inline constexpr RanksOf<typename P::number> ranks_by{&Ranks::check_room, &Ranks::make};

/// As threads. Members that are not defined in the class are in cleave::compiled, where it is used.
template <class T> class RankThreads : public ReplicaRanks<T> {
 public:
  using Rank = backend::host::Rank<T>;
  using typename ReplicaRanks<T>::Way, typename ReplicaRanks<T>::A, typename ReplicaRanks<T>::Feed;

  RankThreads(backend::host::Executable<T> const& of, schedule::LayoutView const& layout, schedule::Share const& share,
              std::uint64_t seed);

  ~RankThreads() override;
  void keep_gradients() override;
  void train(long draw, Feed const& feed, optim::Now<A> const& now, A own_rate, A* losses) override;
  backend::host::Seen evaluate(long batch, Feed const& feed, long valid) override;
  void set_seed(std::uint64_t seed) override;
  void begin_at(int micro_batch) override;
  Way& at(int way) override { return rank(way); }
  void took(int, long, long, bool) override {}
  void emptied() override {}
  void refresh_copies() override;
  void trace(int steps, std::size_t more) override;
  backend::host::Timeline& timeline(int way) override { return rank(way).timeline(); }
  long sent(int way) const override { return total(way, &backend::host::Member::received); }
  long sent_bytes(int way) const override { return total(way, &backend::host::Member::received_bytes); }

 private:
  Rank& rank(int way) { return *rank_[static_cast<std::size_t>(way)]; }
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

template <class T>
RankThreads<T>::RankThreads(backend::host::Executable<T> const& of, schedule::LayoutView const& layout,
                            schedule::Share const& share, std::uint64_t seed)
    : world_(of.program.mesh.with_replicas(1), of.program.steps),
      team_(world_),
      rank_(static_cast<std::size_t>(of.program.mesh.ways())) {
  team_.run([&](int w) {
    rank_[static_cast<std::size_t>(w)] = std::make_unique<Rank>(of, world_, std::span(&layout, 1), w, seed, share);
  });
}
template <class T> RankThreads<T>::~RankThreads() = default;
template <class T> void RankThreads<T>::keep_gradients() {
  for (auto& r : rank_) r->keep_gradients();
  keeps_ = true;
}
template <class T>
void RankThreads<T>::train(long draw, Feed const& feed, optim::Now<A> const& now, A own_rate, A* losses) {
  world_.check();
  team_.run([&](int w) {
    Rank& r = rank(w);
    if (keeps_) r.keep_gradients(own_rate);
    r.train(draw, feed, now);
    r.each_loss([&](int s, A loss) { losses[s] = loss; });
  });
}
template <class T> backend::host::Seen RankThreads<T>::evaluate(long batch, Feed const& feed, long valid) {
  std::vector<backend::host::Seen> seen(rank_.size());
  team_.run([&](int w) { seen[static_cast<std::size_t>(w)] = rank(w).evaluate(batch, feed, valid); });
  backend::host::Seen all;
  for (auto const& s : seen) all += s;
  return all;
}
template <class T> void RankThreads<T>::set_seed(std::uint64_t seed) {
  for (auto& r : rank_) r->set_seed(seed);
}
template <class T> void RankThreads<T>::begin_at(int micro_batch) {
  for (auto& r : rank_) r->begin_at(micro_batch);
}
template <class T> void RankThreads<T>::refresh_copies() {
  for (auto& r : rank_) r->refresh_copies();
}
template <class T> void RankThreads<T>::trace(int steps, std::size_t more) {
  for (auto& r : rank_) r->trace(steps, more);
}

/// Of plan P.
template <class P> struct ThreadRanks {
  using T = typename P::number;
  /// Nothing to check: a lack of memory is reported by the system.
  static void check_room(schedule::Memory const&, int) {}
  static std::unique_ptr<ReplicaRanks<T>> make(schedule::LayoutView const& layout, schedule::Share const& share,
                                               std::uint64_t seed) {
    return std::make_unique<RankThreads<T>>(lower::executable<P>, layout, share, seed);
  }
};

}  // namespace cleave::session
