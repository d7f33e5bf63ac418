// train/device_trainer.hpp - trains a plan on the ranks of one device, like Trainer on threads, by captured steps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "../backend/gpu/execution/fleet.hpp"
#include "../lower/device.hpp"
#include "../optim/rate.hpp"
#include "losses.hpp"
#include "options.hpp"
#include "owners.hpp"
#include "process_group.hpp"
#include "residuals.hpp"
#include "room.hpp"
#include "sample_training.hpp"
#include "sent_whole.hpp"
#include "untrained.hpp"

namespace cleave {

namespace session {
/// Of options, for a device that all ranks share.
template <class P> int replicas_on_device(TrainerOptions const& setup) {
  if (setup.processes && setup.processes->size() > 1)
    throw Error(
        "DeviceTrainer: .processes are of ranks on processors; a process with a device of its own gives the trainer a "
        "Link (cleave/backend/nccl/link.hpp)");
  return setup.replicas != 0 ? setup.replicas : std::max(P::replicas, 1);
}
}  // namespace session

/// `DeviceTrainer<Train, backend::cuda::Machine> trainer({.replicas = 8});` All ranks are streams of one device.
/// Machine selects the device: backend::emulate::Machine runs the same kernels without a GPU. With a Link
/// (nccl/link.hpp) this process is one of the ranks, with a separate device, and every call is made by all of them.
template <class Plan, class Machine, class Link = backend::gpu::AllHere>
class DeviceTrainer : public session::SampleTraining<session::sent_whole_t<Plan>, DeviceTrainer<Plan, Machine, Link>> {
  using P = session::sent_whole_t<Plan>;
  static_assert(session::stays_on_host<P>().empty(), "this plan says something that runs on the host only");
  static_assert(!P::served, "replicas around a server are trained by Served, with session::DeviceRanks");

 public:
  using plan = P;
  using A = tensor::accumulate_t<typename P::number>;
  using Fleet = backend::gpu::Fleet<typename P::number, Machine, Link>;
  using Region = backend::host::Region;
  static constexpr int most_steps = 256;  // in one call of train

  /// One replica if none are said, for all share the device. Throws Error for several processes, which take a Link.
  DeviceTrainer() requires(!Link::remote) : DeviceTrainer(TrainerOptions{}) {}
  explicit DeviceTrainer(TrainerOptions const& setup) requires(!Link::remote)
      : DeviceTrainer(session::replicas_on_device<P>(setup), setup.seed) {}
  explicit DeviceTrainer(int replicas, std::uint64_t seed = 1,
                         std::unique_ptr<Machine> machine = std::make_unique<Machine>()) requires(!Link::remote)
      : DeviceTrainer(replicas, seed, std::move(machine), std::make_unique<Link>()) {}
  DeviceTrainer(int replicas, std::uint64_t seed, std::unique_ptr<Machine> machine, std::unique_ptr<Link> link)
      : session::SampleTraining<P, DeviceTrainer>(seed),
        ranks_(P::ranks_of(session::checked_replicas<P>(replicas))),
        machine_(std::move(machine)),
        link_(std::move(link)),
        layout_(schedule::layout(P::schedule, P::lives, P::request, backend::gpu::on_device(P::format), ranks_)),
        fleet_(lower::device_executable<P, Machine, Link>, (prepare(), *machine_), *link_, ranks_, P::share(ranks_),
               layout_, seed),
        losses_(P::micro_batches) {
    means_.reserve(most_steps);
  }

  /// Runs the steps [first, first + count) and returns the mean loss of each; a loss that is not finite is an error.
  /// Losses are read one step late, so that the device always has the next step.
  std::vector<double> const& train(long first, int count, backend::host::Feed const& feed, double rate_scale = 1) {
    if (count > most_steps) throw Error({"train: at most ", most_steps, " steps in one call, got ", count});
    means_.clear();
    for (int i = 0; i < count; ++i) {
      fleet_.train(first + i, feed, optim::now<typename P::optimizer, A>(rate_.at(first + i) * rate_scale, first + i));
      if (i > 0) hear(1, first + i - 1);
    }
    if (count > 0) hear(0, first + count - 1);
    steps_ += count;
    return means_;
  }
  /// Mean loss, and accuracy where the feed has labels, over `samples` samples from the feed's start.
  backend::host::Score score(backend::host::Feed const& feed, long samples) {
    backend::host::Seen all;
    for (long b = 0; b * P::batch < samples; ++b) {
      all += fleet_.evaluate(b, feed, samples - b * P::batch);
    }
    return backend::host::Score::over_processes({all}, backend::host::pairs_of(schedule::program<P>), feed,
                                                [&](double* sums, int count) { collect(sums, count); });
  }
  /// The share of samples whose largest output is at their label. An Error where the feed has no labels.
  double accuracy(backend::host::Feed const& feed, long samples) { return score(feed, samples).checked_accuracy(); }

  /// Elements (or bytes) that a rank has sent in all training steps: what other ranks read from it.
  long sent(int rank) const { return fleet_.sent(rank); }
  long sent_bytes(int rank) const { return fleet_.sent_bytes(rank); }
  static backend::host::Member::Sparse sent_rows(int) { return {}; }
  /// Seconds: not known, since the host does not wait.
  static std::optional<double> exposed(int) { return {}; }
  static std::optional<double> waited(int) { return {}; }
  long allocated(int) const { return memory().total; }

  /// Elements [offset, offset + count) of a way's region, from its first replica; and into all of its replicas.
  void read(int way, Region region, long offset, long count, A* out) {
    std::fill_n(out, count, A{0});  // weights that do not learn may have no moments
    each_owner(way, region, offset, count, [&](int rank, long in_arena, long in_values, long many) {
      A* const to = out + in_values;
      if (fleet_.here(rank)) fleet_.read(rank, at(region) + in_arena * bytes_each, to, many * bytes_each);
      if constexpr (Link::remote) link_->share(*machine_, fleet_.stream(), rank, to, many * bytes_each);
    });
  }
  void write(int way, Region region, long offset, long count, A const* in) {
    for (int r = way; r < ranks_.world(); r += P::ways) {
      if (region == Region::Weights) {
        if (fleet_.here(r)) fleet_.set_weights(r, offset, count, in);
        continue;
      }
      each_owner(r, region, offset, count, [&](int rank, long in_arena, long in_values, long many) {
        if (fleet_.here(rank))
          fleet_.write(rank, at(region) + in_arena * bytes_each, in + in_values, many * bytes_each);
      });
    }
  }
  void refresh_copies() {}  // write() does so
  /// The residuals of a rank (residuals.hpp), one bucket after the other; and to set them. Called by all processes.
  static constexpr bool asked_by_all = Link::remote;
  std::vector<A> residuals(int rank) {
    std::vector<A> out(static_cast<std::size_t>(session::residuals<P>(ranks_, rank)));
    A* to = out.data();
    each_residual(rank, [&](long at, long bytes) {
      if (fleet_.here(rank)) fleet_.read(rank, at, to, bytes);
      to += bytes / bytes_each;
    });
    if constexpr (Link::remote)
      link_->share(*machine_, fleet_.stream(), rank, out.data(), static_cast<long>(out.size()) * bytes_each);
    return out;
  }
  void set_residuals(int rank, std::vector<A> const& values) {
    if (!fleet_.here(rank)) return;
    A const* from = values.data();
    each_residual(rank, [&](long at, long bytes) {
      fleet_.write(rank, at, from, bytes);
      from += bytes / bytes_each;
    });
  }
  void meet() {
    double nothing = 0;
    collect(&nothing, 1);
  }
  /// Traces every rank's next `steps` steps.
  void trace(int steps) { fleet_.trace(steps); }
  /// Timelines of each rank; null if it is in another process.
  std::vector<backend::host::Timeline const*> timelines() const { return fleet_.timelines(); }
  long steps() const { return steps_; }
  void set_steps(long steps) { steps_ = steps; }
  void set_rate(Rate rate) { rate_ = rate; }
  /// Sets the seed of dropout; the weights do not change.
  void set_seed(std::uint64_t seed) { fleet_.set_seed(seed); }
  /// Sums over the processes of the run; every process calls it.
  void sum_over_processes(double* values, int count) { collect(values, count); }
  /// Whether this process is the one that writes files.
  bool leads() const { return fleet_.here(0); }
  schedule::Ranks ranks() const { return ranks_; }
  schedule::Memory memory() const { return layout_.memory; }
  Machine& machine() { return *machine_; }
  Fleet& fleet() { return fleet_; }

 private:
  static constexpr long bytes_each = sizeof(A);
  template <class Visit> void each_owner(int rank, Region region, long first, long count, Visit visit) const {
    session::each_owner(schedule::program<P>, ranks_, rank, region, first, count, visit);
  }
  template <class Visit> void each_residual(int rank, Visit visit) const {
    auto const& l = layout_;
    session::each_residual<P>(ranks_, rank, [&](int b, bool of_sum, long, long count) {
      if (count > 0) visit(of_sum ? l.left_of_sum[b] : l.left[b], count * bytes_each);
    });
  }
  long at(Region r) const {
    auto const& l = layout_;
    return r == Region::Weights ? l.weights : r == Region::Moments ? l.moments : l.states;
  }
  void collect(double* values, int n) {
    if constexpr (Link::remote) link_->sum(*machine_, fleet_.stream(), values, n);
  }
  void hear(int back, long step) {
    std::fill(losses_.begin(), losses_.end(), A{0});
    fleet_.each_loss(back, [&](int s, A loss) { losses_[static_cast<std::size_t>(s)] = loss; });
    if constexpr (Link::remote) {
      std::vector<double> all(losses_.begin(), losses_.end());
      collect(all.data(), P::micro_batches);
      for (std::size_t i = 0; i < all.size(); ++i) losses_[i] = static_cast<A>(all[i]);
    }
    means_.push_back(session::mean_loss<P>(losses_.data(), step));
  }
  void prepare() {
    if constexpr (Link::remote) machine_->while_waiting = [link = link_.get()](bool late) { link->waited(late); };
    session::check_room(layout_.memory, Link::remote ? 1 : ranks_.world(), machine_->free_bytes());
  }

  schedule::Ranks ranks_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<Link> link_;
  schedule::Layout<P::ops::size> const layout_;
  Fleet fleet_;
  std::vector<A> losses_;
  std::vector<double> means_;
  long steps_ = 0;
  Rate rate_ = P::rate;
};
template <class Plan, class Machine, class Link>
requires(!session::trains<Plan>) class DeviceTrainer<Plan, Machine, Link> : public session::Untrained<Plan> {
  static_assert(sizeof(typename session::laws_of_trainers<Plan>::trainer) > 0);

 public:
  using session::Untrained<Plan>::Untrained;
};

}  // namespace cleave
