// train/host_trainer.hpp - trains any plan of one number format on threads as ranks; gives losses, accuracy, counters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../backend/host/rank.hpp"
#include "../backend/host/team.hpp"
#include "../optim/rate.hpp"
#include "losses.hpp"
#include "owners.hpp"
#include "residuals.hpp"

namespace cleave::session {

/// What a trainer asks of a plan; T is its number format.
template <class T> struct Training {
  using A = tensor::accumulate_t<T>;
  Description const* plan = nullptr;
  backend::host::Executable<T> executable;
  optim::Now<A> (*now)(double rate, long step) = nullptr;
  Rate rate;
};

/// The base of `Trainer<P>` (trainer.hpp), the same code for all plans of a number format. Members that are not defined
/// in the class are in cleave::compiled, where it is used.
template <class T> class HostTrainer {
 public:
  using Common = HostTrainer;  // the type by which other code takes a trainer on threads, whatever its plan
  using A = tensor::accumulate_t<T>;
  using Rank = backend::host::Rank<T>;
  using Region = backend::host::Region;
  static constexpr int most_steps = 256;  // in one call of train

  /// With `remote`, each process has as many of the ranks as threads, and every call is made by all processes.
  HostTrainer(Training<T> const& of, int replicas, std::uint64_t seed, backend::host::Remote* remote);
  ~HostTrainer();
  HostTrainer(HostTrainer const&) = delete;
  HostTrainer& operator=(HostTrainer const&) = delete;

  Description const& description() const { return plan_; }

  /// Runs the steps [first, first + count) and returns the mean loss of each; a loss that is not finite is an error.
  std::vector<double> const& train(long first, int count, backend::host::Feed const& feed, double rate_scale = 1);
  /// Mean loss, and accuracy where the feed has labels, over `samples` samples from the feed's start.
  backend::host::Score score(backend::host::Feed const& feed, long samples);
  /// The share of samples whose largest output is at their label. An Error where the feed has no labels.
  double accuracy(backend::host::Feed const& feed, long samples) { return score(feed, samples).checked_accuracy(); }

  /// Elements (or bytes) that a rank has sent since construction: what other ranks read from it.
  long sent(int rank) const { return total(rank, &backend::host::Member::received); }
  long sent_bytes(int rank) const { return total(rank, &backend::host::Member::received_bytes); }
  /// Bytes that a rank has sent to ranks of other nodes, for a number of ranks in each node.
  long sent_across(int rank, int ranks_per_node) const;
  /// Of these, the part that depends on the data: nonzero rows of gradients.
  backend::host::Member::Sparse sent_rows(int rank) const;
  /// Seconds that a rank has waited for gradients after its backward pass, and in all collectives.
  std::optional<double> exposed(int rank) const;
  std::optional<double> waited(int rank) const;
  long allocated(int rank) const;

  /// Elements [first, first + count) of a way's region, from its first replica; and into all of its replicas.
  void read(int way, Region region, long first, long count, A* out);
  void write(int way, Region region, long first, long count, A const* in);
  void refresh_copies() {}  // write() does so
  /// The residuals of a rank (residuals.hpp), one bucket after the other; and to set them.
  std::vector<A> residuals(int rank);
  void set_residuals(int rank, std::vector<A> const& values);
  /// Whether this process is the one that writes files.
  bool leads() const { return world_.here(0); }
  /// A barrier of all processes.
  void meet() const;
  /// Traces every rank's next `steps` steps.
  void trace(int steps);
  /// Timelines of each rank; null if it is in another process.
  std::vector<backend::host::Timeline const*> timelines() const;
  long steps() const { return steps_; }
  void set_steps(long steps) { steps_ = steps; }
  void set_rate(Rate rate) { rate_ = rate; }
  /// Sets the seed of dropout; the weights do not change.
  void set_seed(std::uint64_t seed);
  /// Sums over the processes of the run; every process calls it.
  void sum_over_processes(double* values, int count) const { collect(values, count); }

  schedule::Ranks ranks() const { return ranks_; }
  schedule::Memory memory(int rank) const { return layout_of(rank).memory; }
  /// Of a rank; of a pipeline, of the stage whose ranks need most.
  schedule::Memory memory() const {
    auto const less = [](auto const& a, auto const& b) { return a.memory.total < b.memory.total; };
    return std::max_element(layouts_.begin(), layouts_.end(), less)->memory;
  }
  Rank& at(int rank) { return *ranks_of_[static_cast<std::size_t>(rank)]; }
  Rank const& at(int rank) const { return *ranks_of_[static_cast<std::size_t>(rank)]; }

 private:
  long total(int rank, std::vector<long> backend::host::Member::*what) const;
  /// Sums over processes, if there are several; a value that only one of them knows is zero in the others.
  template <class N> void collect(N* values, int count) const;
  template <class Visit> void each_owner(int rank, Region region, long first, long count, Visit visit) const {
    session::each_owner(plan_.program, ranks_, rank, region, first, count, visit);
  }
  double told(double value) const;
  schedule::LayoutView const& layout_of(int rank) const { return views_[static_cast<std::size_t>(ranks_.stage(rank))]; }
  long offset(int rank, Region region) const {
    schedule::LayoutView const& l = layout_of(rank);
    return region == Region::Weights ? l.weights : region == Region::Moments ? l.moments : l.states;
  }

  Description const& plan_;
  optim::Now<A> (*now_)(double rate, long step);
  schedule::Ranks ranks_;
  std::vector<schedule::RuntimeLayout> layouts_;  // of each stage
  std::vector<schedule::LayoutView> views_;
  backend::host::World world_;
  std::vector<std::unique_ptr<Rank>> ranks_of_;
  backend::host::Team team_;  // last: its threads end before what they use
  std::vector<A> losses_;
  std::vector<double> means_;
  long steps_ = 0;
  Rate rate_;
};

template <class T>
HostTrainer<T>::HostTrainer(Training<T> const& of, int replicas, std::uint64_t seed, backend::host::Remote* remote)
    : plan_(*of.plan),
      now_(of.now),
      ranks_(plan_.program.mesh.with_replicas(checked_replicas(plan_, replicas))),
      world_(ranks_, plan_.program.steps, remote),
      team_(world_),
      rate_(of.rate) {
  ranks_of_.resize(static_cast<std::size_t>(ranks_.world()));
  for (int stage = 0; stage < ranks_.stages; ++stage)
    layouts_.push_back(schedule::runtime_layout(plan_.program, plan_.request, ranks_, stage));
  views_.assign(layouts_.begin(), layouts_.end());
  team_.run([&](int r) {
    ranks_of_[static_cast<std::size_t>(r)] =
        std::make_unique<Rank>(of.executable, world_, views_, r, seed, plan_.share(ranks_));
  });
  world_.share(static_cast<std::size_t>(memory().total));
  losses_.resize(static_cast<std::size_t>(most_steps) * static_cast<std::size_t>(plan_.request.micro_batches));
  means_.reserve(most_steps);
}
template <class T> HostTrainer<T>::~HostTrainer() {
  // After a failure the peers may never come; the rank that has failed ends them.
  if (!world_.remote() || std::uncaught_exceptions() > 0) return;
  try {
    world_.remote()->end_sharing();
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
}

template <class T>
std::vector<double> const& HostTrainer<T>::train(long first, int count, backend::host::Feed const& feed,
                                                 double rate_scale) {
  if (count > most_steps) throw Error({"train: at most ", most_steps, " steps in one call, got ", count});
  world_.check();
  if (world_.remote()) std::fill(losses_.begin(), losses_.end(), A{0});
  int const micro_batches = plan_.request.micro_batches;
  team_.run([&](int r) {
    Rank& rank = *ranks_of_[static_cast<std::size_t>(r)];
    for (int i = 0; i < count; ++i) {
      rank.train(first + i, feed, now_(rate_.at(first + i) * rate_scale, first + i));
      rank.each_loss([&](int s, A loss) { losses_[static_cast<std::size_t>(long{i} * micro_batches + s)] = loss; });
    }
  });
  steps_ += count;
  collect(losses_.data(), count * micro_batches);
  means_.clear();
  for (int i = 0; i < count; ++i)
    means_.push_back(mean_loss(plan_, losses_.data() + long{i} * micro_batches, first + i));
  return means_;
}
template <class T> backend::host::Score HostTrainer<T>::score(backend::host::Feed const& feed, long samples) {
  world_.check();
  std::vector<backend::host::Seen> seen(ranks_of_.size());
  team_.run([&](int r) {
    for (long b = 0; b * plan_.batch < samples; ++b) {
      seen[static_cast<std::size_t>(r)] +=
          ranks_of_[static_cast<std::size_t>(r)]->evaluate(b, feed, samples - b * plan_.batch);
    }
  });
  return backend::host::Score::over_processes(seen, backend::host::pairs_of(plan_.program), feed,
                                              [&](double* sums, int count) { collect(sums, count); });
}

template <class T> long HostTrainer<T>::sent_across(int rank, int ranks_per_node) const {
  double sum = 0;
  for (int r = 0; r < ranks_.world(); ++r) {
    auto const& reader = ranks_of_[static_cast<std::size_t>(r)];
    if (!reader || r / ranks_per_node == rank / ranks_per_node) continue;
    sum += static_cast<double>(reader->member().received_bytes[static_cast<std::size_t>(rank)]);
  }
  return static_cast<long>(told(sum));
}
template <class T> backend::host::Member::Sparse HostTrainer<T>::sent_rows(int rank) const {
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
template <class T> std::optional<double> HostTrainer<T>::exposed(int rank) const {
  return told(world_.here(rank) ? at(rank).exposed() : 0);
}
template <class T> std::optional<double> HostTrainer<T>::waited(int rank) const {
  return told(world_.here(rank) ? at(rank).member().waited : 0);
}
template <class T> long HostTrainer<T>::allocated(int rank) const {
  return static_cast<long>(told(world_.here(rank) ? static_cast<double>(at(rank).bytes()) : 0));
}

template <class T> void HostTrainer<T>::read(int way, Region region, long first, long count, A* out) {
  std::fill_n(out, count, A{0});  // weights that do not learn may have no moments
  each_owner(way, region, first, count, [&](int rank, long in_arena, long in_values, long many) {
    long const bytes = many * static_cast<long>(sizeof(A)),
               from = offset(rank, region) + in_arena * static_cast<long>(sizeof(A));
    int const reader = world_.here().begin;
    world_.fetch(reader, {rank, from, bytes});
    std::memcpy(out + in_values, world_.seen_by(reader, rank) + from, static_cast<std::size_t>(bytes));
  });
}
template <class T> void HostTrainer<T>::write(int way, Region region, long first, long count, A const* in) {
  for (int r = way; r < ranks_.world(); r += ranks_.ways()) {
    if (region == Region::Weights) {
      if (world_.here(r)) at(r).set_weights(first, count, in);
    } else {
      each_owner(r, region, first, count, [&](int rank, long in_arena, long in_values, long many) {
        if (world_.here(rank)) std::copy_n(in + in_values, many, at(rank).region(region) + in_arena);
      });
    }
  }
}
template <class T> std::vector<typename HostTrainer<T>::A> HostTrainer<T>::residuals(int rank) {
  std::vector<A> out(static_cast<std::size_t>(session::residuals(plan_.program, ranks_, rank)));
  A* to = out.data();
  each_residual(plan_.program, ranks_, rank, [&](int b, bool of_sum, long, long count) {
    long const from = of_sum ? layout_of(rank).left_of_sum[b] : layout_of(rank).left[b];
    int const reader = world_.here().begin;
    world_.fetch(reader, {rank, from, count * static_cast<long>(sizeof(A))});
    std::memcpy(to, world_.seen_by(reader, rank) + from, static_cast<std::size_t>(count) * sizeof(A));
    to += count;
  });
  return out;
}
template <class T> void HostTrainer<T>::set_residuals(int rank, std::vector<A> const& values) {
  if (!world_.here(rank)) return;
  A const* from = values.data();
  each_residual(plan_.program, ranks_, rank, [&](int b, bool of_sum, long, long count) {
    std::copy_n(from, count,
                at(rank).template at<A>(of_sum ? layout_of(rank).left_of_sum[b] : layout_of(rank).left[b]));
    from += count;
  });
}
template <class T> void HostTrainer<T>::meet() const {
  double nothing = 0;
  collect(&nothing, 1);
}
template <class T> void HostTrainer<T>::trace(int steps) {
  for (auto& r : ranks_of_) {
    if (r) r->trace(steps);
  }
}
template <class T> std::vector<backend::host::Timeline const*> HostTrainer<T>::timelines() const {
  std::vector<backend::host::Timeline const*> all;
  for (auto const& r : ranks_of_) all.push_back(r ? &r->timeline() : nullptr);
  return all;
}
template <class T> void HostTrainer<T>::set_seed(std::uint64_t seed) {
  for (auto& r : ranks_of_) {
    if (r) r->set_seed(seed);
  }
}

template <class T> long HostTrainer<T>::total(int rank, std::vector<long> backend::host::Member::*what) const {
  long sum = 0;
  for (auto const& r : ranks_of_) sum += r ? (r->member().*what)[static_cast<std::size_t>(rank)] : 0;
  return static_cast<long>(told(static_cast<double>(sum)));
}
template <class T> template <class N> void HostTrainer<T>::collect(N* values, int count) const {
  if (!world_.remote()) return;
  std::vector<double> all(values, values + count);
  world_.remote()->sum(all.data(), count);
  for (int i = 0; i < count; ++i) values[i] = static_cast<N>(all[static_cast<std::size_t>(i)]);
}
template <class T> double HostTrainer<T>::told(double value) const {
  collect(&value, 1);
  return value;
}

}  // namespace cleave::session
