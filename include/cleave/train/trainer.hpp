// train/trainer.hpp - trains a plan on threads as ranks; gives losses, accuracy and counters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../backend/host/rank.hpp"
#include "../backend/host/team.hpp"
#include "../lower/host.hpp"
#include "../optim/rate.hpp"
#include "losses.hpp"
#include "residuals.hpp"
#include "untrained.hpp"

namespace cleave {

/// `Trainer<Train> trainer(2, seed); trainer.train(0, 100, feed);` The number of replicas is that of the data axis; a
/// plan with split layers runs on replicas x ways ranks. After construction no step allocates or starts a thread.
template <class P> class Trainer {
 public:
  using plan = P;
  using A = tensor::accumulate_t<typename P::number>;
  using Rank = backend::host::Rank<typename P::number>;

  /// With `remote`, this process is one of the ranks and every call is made by all of them.
  explicit Trainer(int replicas, std::uint64_t seed = 1, backend::host::Remote* remote = nullptr)
      : ranks_{session::checked_replicas<P>(replicas), P::ways},
        layout_(schedule::layout(P::schedule, P::request, P::format, ranks_)),
        world_(ranks_, P::schedule.steps, remote),
        team_(world_) {
    ranks_of_.resize(static_cast<std::size_t>(ranks_.world()));
    team_.run([&](int r) {
      ranks_of_[static_cast<std::size_t>(r)] =
          std::make_unique<Rank>(lower::executable<P>, world_, layout_, r, seed, P::share(ranks_));
    });
    losses_.resize(std::size_t{most_steps} * P::micro_batches);
    means_.reserve(most_steps);
  }

  ~Trainer() {
    // After a failure the peers may never come; the rank that has failed ends them.
    if (world_.remote() && std::uncaught_exceptions() == 0) world_.remote()->end_sharing();
  }
  Trainer(Trainer const&) = delete;
  Trainer& operator=(Trainer const&) = delete;

  static constexpr int most_steps = 256;  // in one call of train

  /// Runs the steps [first, first + count) and returns the mean loss of each; a loss that is not finite is an error.
  std::vector<double> const& train(long first, int count, backend::host::Feed const& feed, double rate_scale = 1) {
    if (count > most_steps)
      throw Error("train: at most " + std::to_string(most_steps) + " steps in one call, got " + std::to_string(count));
    world_.check();
    if (world_.remote()) std::fill(losses_.begin(), losses_.end(), A{0});
    team_.run([&](int r) {
      Rank& rank = *ranks_of_[static_cast<std::size_t>(r)];
      for (int i = 0; i < count; ++i) {
        rank.train(first + i, feed, optim::now<typename P::optimizer, A>(rate_.at(first + i) * rate_scale, first + i));
        if (rank.member().way() != 0 && !P::placed.node[P::placed.count - 1].rows_cut) continue;
        rank.each_loss(
            [&](int s, A loss) { losses_[static_cast<std::size_t>(long{i} * P::micro_batches + s)] = loss; });
      }
    });
    steps_ += count;
    collect(losses_.data(), count * P::micro_batches);
    means_.clear();
    for (int i = 0; i < count; ++i) {
      means_.push_back(session::mean_loss<P>(losses_.data() + i * P::micro_batches, first + i));
    }
    return means_;
  }

  /// Mean loss, and accuracy where the feed has labels, over `samples` samples from the feed's start.
  backend::host::Score score(backend::host::Feed const& feed, long samples) {
    world_.check();
    std::vector<backend::host::Seen> seen(ranks_of_.size());
    team_.run([&](int r) {
      for (long b = 0; b * P::batch < samples; ++b) {
        seen[static_cast<std::size_t>(r)] +=
            ranks_of_[static_cast<std::size_t>(r)]->evaluate(b, feed, samples - b * P::batch);
      }
    });
    backend::host::Seen all;
    for (auto const& s : seen) all += s;
    double sums[] = {static_cast<double>(all.correct), static_cast<double>(all.samples), all.loss};
    collect(sums, 3);
    return backend::host::Score::of({static_cast<long>(sums[1]), static_cast<long>(sums[0]), sums[2]}, feed);
  }
  /// The share of samples whose largest output is at their label. An Error where the feed has no labels.
  double accuracy(backend::host::Feed const& feed, long samples) { return score(feed, samples).checked_accuracy(); }

  /// Elements (or bytes) that a rank has sent since construction: what other ranks read from it.
  long sent(int rank) const { return total(rank, &backend::host::Member::received); }
  long sent_bytes(int rank) const { return total(rank, &backend::host::Member::received_bytes); }
  /// Bytes that a rank has sent to ranks of other nodes, for a number of ranks in each node.
  long sent_across(int rank, int ranks_per_node) const {
    double sum = 0;
    for (int r = 0; r < ranks_.world(); ++r) {
      auto const& reader = ranks_of_[static_cast<std::size_t>(r)];
      if (!reader || r / ranks_per_node == rank / ranks_per_node) continue;
      sum += static_cast<double>(reader->member().received_bytes[static_cast<std::size_t>(rank)]);
    }
    return static_cast<long>(told(sum));
  }
  /// Of these, the part that depends on the data: nonzero rows of gradients.
  backend::host::Member::Sparse sent_rows(int rank) const {
    double sum[3]{};
    for (auto const& r : ranks_of_) {
      if (!r || r->member().sparse.empty()) continue;
      backend::host::Member::Sparse const& s = r->member().sparse[static_cast<std::size_t>(rank)];
      sum[0] += static_cast<double>(s.rows);
      sum[1] += static_cast<double>(s.elements);
      sum[2] += static_cast<double>(s.bytes);
    }
    collect(sum, 3);
    return {static_cast<long>(sum[0]), static_cast<long>(sum[1]), static_cast<long>(sum[2])};
  }
  /// Seconds that a rank has waited for gradients after its backward pass, and in all collectives.
  std::optional<double> exposed(int rank) const { return told(world_.here(rank) ? at(rank).exposed() : 0); }
  std::optional<double> waited(int rank) const { return told(world_.here(rank) ? at(rank).member().waited : 0); }
  long allocated(int rank) const {
    return static_cast<long>(told(world_.here(rank) ? static_cast<double>(at(rank).bytes()) : 0));
  }
  /// Elements [offset, offset + count) of a way's region, from its first replica; and into all of its replicas.
  void read(int way, backend::host::Region region, long offset, long count, A* out) {
    long const from = (region == backend::host::Region::Weights   ? layout_.weights
                       : region == backend::host::Region::Moments ? layout_.moments
                                                                  : layout_.states) +
                      offset * static_cast<long>(sizeof(A));
    world_.fetch(way, from, count * static_cast<long>(sizeof(A)));
    std::memcpy(out, world_.arena(way) + from, static_cast<std::size_t>(count) * sizeof(A));
  }
  void write(int way, backend::host::Region region, long offset, long count, A const* in) {
    for (int r = way; r < ranks_.world(); r += P::ways) {
      if (world_.here(r)) std::copy_n(in, count, at(r).region(region) + offset);
    }
  }
  void refresh_copies() {
    for (auto& r : ranks_of_) {
      if (r) r->refresh_copies();
    }
  }
  /// The residuals of a rank (residuals.hpp), one bucket after the other; and to set them.
  std::vector<A> residuals(int rank) {
    std::vector<A> out(static_cast<std::size_t>(session::residuals<P>(ranks_, rank)));
    A* to = out.data();
    session::each_residual<P>(ranks_, rank, [&](int b, bool of_sum, long, long count) {
      long const from = of_sum ? layout_.left_of_sum[b] : layout_.left[b];
      world_.fetch(rank, from, count * static_cast<long>(sizeof(A)));
      std::memcpy(to, world_.arena(rank) + from, static_cast<std::size_t>(count) * sizeof(A));
      to += count;
    });
    return out;
  }
  /// A barrier of all processes.
  void meet() const {
    double nothing = 0;
    collect(&nothing, 1);
  }
  void set_residuals(int rank, std::vector<A> const& values) {
    if (!world_.here(rank)) return;
    A const* from = values.data();
    session::each_residual<P>(ranks_, rank, [&](int b, bool of_sum, long, long count) {
      std::copy_n(from, count, at(rank).template at<A>(of_sum ? layout_.left_of_sum[b] : layout_.left[b]));
      from += count;
    });
  }
  /// Traces every rank's next `steps` steps.
  void trace(int steps) {
    for (auto& r : ranks_of_) {
      if (r) r->trace(steps);
    }
  }
  /// Timelines of each rank; null if it is in another process.
  std::vector<backend::host::Timeline const*> timelines() const {
    std::vector<backend::host::Timeline const*> all;
    for (auto const& r : ranks_of_) all.push_back(r ? &r->timeline() : nullptr);
    return all;
  }
  long steps() const { return steps_; }
  void set_steps(long steps) { steps_ = steps; }
  void set_rate(Rate rate) { rate_ = rate; }
  /// Sets the seed of dropout; the weights do not change.
  void set_seed(std::uint64_t seed) {
    for (auto& r : ranks_of_) {
      if (r) r->set_seed(seed);
    }
  }
  /// Sums over the processes of the run; every process calls it.
  void sum_over_processes(double* values, int count) const { collect(values, count); }

  schedule::Ranks ranks() const { return ranks_; }
  schedule::Memory memory() const { return layout_.memory; }
  Rank& at(int rank) { return *ranks_of_[static_cast<std::size_t>(rank)]; }
  Rank const& at(int rank) const { return *ranks_of_[static_cast<std::size_t>(rank)]; }

 private:
  long total(int rank, std::vector<long> backend::host::Member::*what) const {
    long sum = 0;
    for (auto const& r : ranks_of_) sum += r ? (r->member().*what)[static_cast<std::size_t>(rank)] : 0;
    return static_cast<long>(told(static_cast<double>(sum)));
  }

  /// Sums over processes, if there are several; a value that only one of them knows is zero in the others.
  template <class N> void collect(N* values, int count) const {
    if (!world_.remote()) return;
    std::vector<double> all(values, values + count);
    world_.remote()->sum(all.data(), count);
    for (int i = 0; i < count; ++i) values[i] = static_cast<N>(all[static_cast<std::size_t>(i)]);
  }
  double told(double value) const {
    collect(&value, 1);
    return value;
  }

  schedule::Ranks ranks_;
  schedule::Layout<P::ops::size> layout_;
  backend::host::World world_;
  std::vector<std::unique_ptr<Rank>> ranks_of_;
  backend::host::Team team_;  // last: its threads end before what they use
  std::vector<A> losses_;
  std::vector<double> means_;
  long steps_ = 0;
  Rate rate_ = P::rate;
};
template <class P>
requires(!plan::legal<P> || P::served) class Trainer<P> : public session::Untrained<P> {
  static_assert(sizeof(typename session::laws_of_trainers<P>::trainer) > 0);

 public:
  using session::Untrained<P>::Untrained;
};

}  // namespace cleave
