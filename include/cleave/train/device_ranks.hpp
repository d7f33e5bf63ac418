// train/device_ranks.hpp - the ranks of one replica as streams of a device; pushes and weights are copied via the host.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <vector>

#include "../backend/gpu/execution/fleet.hpp"
#include "../backend/host/execution/arena.hpp"
#include "../lower/device.hpp"
#include "room.hpp"
#include "thread_ranks.hpp"

namespace cleave::session {

/// Used in place of ThreadRanks. A way's memory on the host holds what is exchanged: weights, push buffer, messages and
/// residuals; only that much of it is ever touched.
template <class P, class Machine> class DeviceRanks : public ReplicaRanks<typename P::number> {
 public:
  using Way = backend::host::Arena<typename P::number>;
  using A = typename Way::A;
  using Feed = backend::host::Feed;

  DeviceRanks(schedule::LayoutView const& layout, schedule::Share const& share, std::uint64_t seed)
      : layout_(layout),
        machine_(std::make_unique<Machine>()),
        fleet_(lower::device_executable<P, Machine, backend::gpu::AllHere>, *machine_, link_,
               schedule::program<P>.mesh.with_replicas(1), share, layout, seed) {
    for (int w = 0; w < P::ways; ++w) {
      way_.push_back(std::make_unique<Way>(schedule::program<P>, layout));
      fleet_.read(w, layout.weights, at(w).weights(), all);
    }
  }

  /// Called before anything is allocated; `replicas` is their number in this process.
  static void check_room(schedule::Memory const& each, int replicas) {
    auto const here =
        static_cast<std::size_t>(schedule::Category::Workspace);  // a rank's own, beside the host's layout
    schedule::Memory more = each;
    more.bytes[here] += backend::gpu::workspace_bytes;
    more.total += backend::gpu::workspace_bytes;
    session::check_room(more, replicas * P::ways, Machine().free_bytes());
  }
  static std::unique_ptr<ReplicaRanks<typename P::number>> make(schedule::LayoutView const& layout,
                                                                schedule::Share const& share, std::uint64_t seed) {
    return std::make_unique<DeviceRanks>(layout, share, seed);
  }
  void keep_gradients() override { keeps_ = true; }
  void train(long draw, Feed const& feed, optim::Now<A> const& now, A own_rate, A* losses) override {
    bring();
    fleet_.train(draw, feed, now, own_rate);
    fleet_.each_loss(0, [&](int s, A loss) { losses[s] = loss; });
    for (int w = 0; w < P::ways; ++w) {
      if (keeps_) {
        fleet_.read(w, layout_.outbox, at(w).outbox(), all);
      } else {
        fleet_.read(w, layout_.weights, at(w).weights(), all);
      }
    }
  }
  backend::host::Seen evaluate(long batch, Feed const& feed, long valid) override {
    bring();
    return fleet_.evaluate(batch, feed, valid);
  }
  void set_seed(std::uint64_t seed) override { fleet_.set_seed(seed); }
  void begin_at(int micro_batch) override { fleet_.begin_at(micro_batch); }
  Way& at(int way) override { return *way_[static_cast<std::size_t>(way)]; }
  // Copied to the device before the next step, not here: the writer may hold a lock that others need.
  void took(int way, long offset, long count, bool masters) override {
    taken_.push_back({way, offset, count, masters});
  }
  void emptied() override { empty_ = true; }
  void refresh_copies() override {
    for (int w = 0; w < P::ways; ++w) {
      at(w).refresh_copies();
      took(w, 0, P::schedule.weight_elements, true);
    }
  }
  void trace(int steps, std::size_t more) override {
    machine_->adopt();
    fleet_.trace(steps, more);
  }
  backend::host::Timeline& timeline(int way) override { return fleet_.timeline(way); }
  long sent(int way) const override { return fleet_.sent(way); }
  long sent_bytes(int way) const override { return fleet_.sent_bytes(way); }

 private:
  static constexpr long all = P::schedule.weight_elements * static_cast<long>(sizeof(A));
  template <class E> void put(int way, long tensor, E const* from, long offset, long count) {
    fleet_.write(way, tensor + offset * static_cast<long>(sizeof(E)), from + offset,
                 count * static_cast<long>(sizeof(E)));
  }

  void bring() {
    machine_->adopt();
    for (Taken const& t : taken_) {
      if (t.masters) put(t.way, layout_.weights, at(t.way).weights(), t.offset, t.count);
      if constexpr (Way::narrow) put(t.way, layout_.copies, at(t.way).data_weights(), t.offset, t.count);
    }
    taken_.clear();
    for (int w = 0; empty_ && w < P::ways; ++w) put(w, layout_.outbox, at(w).outbox(), 0, P::schedule.weight_elements);
    empty_ = false;
  }
  struct Taken {
    int way;
    long offset, count;
    bool masters;
  };

  schedule::LayoutView const layout_;
  std::unique_ptr<Machine> machine_;
  backend::gpu::AllHere link_;
  backend::gpu::Fleet<typename P::number, Machine> fleet_;
  std::vector<std::unique_ptr<Way>> way_;
  std::vector<Taken> taken_;
  bool keeps_ = false, empty_ = false;
};

}  // namespace cleave::session
