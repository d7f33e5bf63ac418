// sim/cluster.hpp - discrete events of devices that train together: stragglers, links, failures, and the agreement.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../agree/decider.hpp"
#include "../meta/error.hpp"
#include "step_times.hpp"

namespace cleave::sim {

/// What messages take, in nanoseconds. A server receives one gradient at a time and, at the same time, sends weights to
/// one device at a time; a collective has no server, and takes `exchange_ns`.
struct ClusterLinks {
  double latency_ns = 0;   // of a message
  double gradient_ns = 0;  // of the server's link, for one gradient: its bytes by the bandwidth
  double weights_ns = 0;   // of the server's link, for the weights that one device gets
  double exchange_ns = 0;  // from an update's last gradient to its weights
};

/// A share of gradients ends in the failure of the device. It comes back after `repair_ns`; if negative, never.
struct ClusterFailures {
  double share = 0, repair_ns = -1;
};

/// Counts since the start. `taken`, `dropped`: decisions of the agreement, as is `failed`: too few devices were live.
struct ClusterCounts {
  double ns = 0;  // the modelled time
  long updates = 0, gradients = 0, taken = 0, dropped = 0, ages = 0, failures = 0;
  int oldest = 0;  // age of a gradient that was taken, in updates
  bool failed = false;

  constexpr double ns_per_update() const { return updates > 0 ? ns / static_cast<double>(updates) : 0; }
  constexpr double mean_age() const { return taken > 0 ? static_cast<double>(ages) / static_cast<double>(taken) : 0; }
  friend constexpr bool operator==(ClusterCounts const&, ClusterCounts const&) = default;
};

/// `Cluster<agree::Agreed<Sync, Spares<4>>, 100> c(100, seed, times); c.run(1000).ns_per_update()`: a model, in which
/// nothing is computed but times. What counts, what is dropped and who waits is decided by the functions that decide in
/// a run: agree::Decider for the server, agree::Worker for each device. `Agreed` of a plan is `Plan::agreed`. At most
/// `Most` devices. As in a run, a device finishes a late gradient before it takes new weights, and there is one server
/// as far as the agreement is concerned; several of them share its link's times. Simultaneous events are handled by
/// kind, then by device, so that seed and times determine the result. Memory is linear in `Most`. An update costs a
/// pass over `Most` devices; agreements without waiting make it for every gradient.
template <class Agreed, int Most = agree::most_replicas, class Times = StepTimes> class Cluster {
  static_assert(Most <= 100'000, "Cluster: at most 100,000 devices are simulated");

 public:
  /// An Error if `devices` is not from 1 to Most, if none would be waited for, or if every gradient fails.
  explicit Cluster(int devices, std::uint64_t seed = 1, Times times = {}, ClusterLinks links = {},
                   ClusterFailures failures = {})
      : seed_(seed), times_(std::move(times)), links_(links), failures_(failures) {
    if (devices < 1 || devices > Most || Agreed::parts(devices) < 1)
      throw Error({"Cluster: ", devices, " devices; from 1 + spares to ", Most, " are simulated"});
    if (!(failures.share >= 0 && failures.share <= 1) || (failures.share == 1 && failures.repair_ns >= 0))
      throw Error({"Cluster: a share of ", std::to_string(failures.share),
                   " of gradients fails; it is 0 or more, and less than 1"});
    keeper_ = agree::decider<typename Agreed::template keeper<Most>>(devices, Agreed::parts(devices));
    out_ = std::make_unique<agree::Actions<Most>>();
    device_.resize(static_cast<std::size_t>(devices));
    for (int d = 0; d < devices; ++d) join(d);
  }

  /// Continues for so many updates, or until the agreement fails. Returns the counts since the start. An Error if a
  /// device's time is negative or no number.
  ClusterCounts const& run(long updates) {
    long const until = count_.updates + updates;
    while (count_.updates < until && !count_.failed) {
      bool const arrives = arrived_ < arriving_.size();
      if (ending_.empty() && !arrives) throw Error({"Cluster: after ", count_.updates, " updates no event is left"});
      if (arrives && (ending_.empty() || arriving_[arrived_].at <= ending_.front().at)) {
        Arrival const a = arriving_[arrived_++];
        if (2 * arrived_ >= arriving_.size() && arrived_ >= device_.size()) {
          arriving_.erase(arriving_.begin(), arriving_.begin() + static_cast<std::ptrdiff_t>(arrived_));
          arrived_ = 0;
        }
        now_ = a.at;
        hear(a.told);
      } else {
        std::pop_heap(ending_.begin(), ending_.end());
        Ending const e = ending_.back();
        ending_.pop_back();
        now_ = e.at;
        ends(e.device);
      }
    }
    return count_;
  }
  ClusterCounts const& counts() const { return count_; }
  int devices() const { return static_cast<int>(device_.size()); }

 private:
  struct DeviceState {
    agree::Worker<1> worker{.pace = Agreed::pace};
    int mail = -1;  // the newest version granted, not taken yet; -1: none
    int life = 0;
    long gradients = 0;
    bool computes = false, fails = false, gone = false;
  };
  struct Ending {  // of a gradient, or of a repair
    double at;
    int device;
    bool operator<(Ending const& o) const { return at != o.at ? at > o.at : device > o.device; }
  };
  struct Arrival {
    double at;
    agree::Event told;
  };
  DeviceState& of(int d) { return device_[static_cast<std::size_t>(d)]; }

  void join(int d) {
    DeviceState& v = of(d);
    v.worker = {.pace = Agreed::pace};
    v.mail = -1;
    v.gone = v.fails = v.computes = false;
    hear({agree::Heard::Joined, d, ++v.life});
  }
  void ends(int d) {
    DeviceState& v = of(d);
    if (v.gone) return join(d);
    v.computes = false;
    if (v.fails) {
      ++count_.failures;
      v.gone = true;
      if (failures_.repair_ns >= 0) schedule(d, now_ + failures_.repair_ns);
      return hear({agree::Heard::Left, d, v.life});
    }
    ++count_.gradients;
    int const version = v.worker.weights_of(0);
    agree::Said const said = v.worker.ready();
    begins(d, said.turn);
    takes(d);
    if (!said.push && !said.ask) return;
    // In order of arrival, as all have the same latency.
    double at = now_ + links_.latency_ns;
    if (said.push) at = receiving_ = std::max(at, receiving_) + links_.gradient_ns;
    last_arrival_ = std::max(at, last_arrival_);
    auto const what = said.push ? agree::Heard::Pushed : agree::Heard::Asked;
    agree::Event const told{what, d, v.life, version, said.count, said.ask};
    if (last_arrival_ == now_) return hear(told);
    arriving_.push_back({last_arrival_, told});
  }
  /// The server's decision on an event, and what devices do then.
  void hear(agree::Event const& e) {
    out_->count = 0;
    keeper_->hear(e, *out_);
    for (agree::Action const& a : *out_) {
      switch (a.what) {
        case agree::Done::Take:
          ++count_.taken;
          count_.ages += a.age;
          count_.oldest = std::max(count_.oldest, a.age);
          break;
        case agree::Done::Drop:
          ++count_.dropped;
          break;
        case agree::Done::Update:
          ++count_.updates;
          count_.ns = now_ + links_.exchange_ns;
          break;
        case agree::Done::Grant:
          of(a.worker).mail = std::max(of(a.worker).mail, a.version);
          takes(a.worker);
          break;
        case agree::Done::Fail:
          count_.failed = true;
          count_.ns = now_;
          break;
      }
    }
  }
  void takes(int d) {
    DeviceState& v = of(d);
    if (v.computes || v.mail < 0) return;
    begins(d, v.worker.granted(0, std::exchange(v.mail, -1)));
  }
  void begins(int d, agree::Turn turn) {
    if (turn == agree::Turn::Nothing) return;
    DeviceState& v = of(d);
    double at = now_;
    if (turn == agree::Turn::Compute && (count_.updates > 0 || v.life > 1)) {  // the first weights are there already
      sending_ = std::max(now_ + links_.exchange_ns, sending_) + links_.weights_ns;
      at = sending_ + links_.latency_ns;
    }
    v.computes = true;
    tensor::Words const draw = draw_of(seed_, d, v.gradients);
    double const takes = times_(d, v.gradients++, draw);
    if (!(takes >= 0)) throw Error({"Cluster: a gradient of device ", d, " takes no time that there is"});
    v.fails = failures_.share > 0 && uniform(draw.d) < failures_.share;
    schedule(d, at + takes);
  }
  void schedule(int d, double at) {
    ending_.push_back({at, d});
    std::push_heap(ending_.begin(), ending_.end());
  }

  std::uint64_t seed_;
  Times times_;
  ClusterLinks links_;
  ClusterFailures failures_;
  std::unique_ptr<agree::Decider<Most>> keeper_;
  std::unique_ptr<agree::Actions<Most>> out_;
  std::vector<DeviceState> device_;
  std::vector<Ending> ending_;     // a heap
  std::vector<Arrival> arriving_;  // in order, from arrived_ on
  std::size_t arrived_ = 0;
  double now_ = 0, receiving_ = 0, sending_ = 0, last_arrival_ = 0;
  ClusterCounts count_;
};

}  // namespace cleave::sim
