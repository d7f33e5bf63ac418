// run/device_ranks.hpp - the ranks of one replica as streams of a device: what it pushes comes to the host, what it takes goes there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <vector>

#include "../backend/gpu/fleet.hpp"
#include "../backend/host/arena.hpp"
#include "room.hpp"
#include "thread_ranks.hpp"

namespace cleave::session {

/// Stands where ThreadRanks stands. A way's memory on the host holds what goes between: weights, outbox, messages and
/// what these lacked; only that much of it is ever touched.
template <class P, class Machine> class DeviceRanks {
 public:
  using Way = backend::host::Arena<P>;
  using A = typename Way::A;
  using Feed = backend::host::Feed;

  DeviceRanks(typename Way::Layout const& layout, schedule::Share const& share, std::uint64_t seed)
      : layout_(layout),
        machine_(std::make_unique<Machine>()),
        fleet_((check_room(layout.memory, P::ways, machine_->free_bytes()), *machine_), link_, {1, P::ways}, share,
               layout, seed) {
    for (int w = 0; w < P::ways; ++w) {
      way_.push_back(std::make_unique<Way>(layout));
      fleet_.read(w, layout.weights, at(w).weights(), all);
    }
  }

  void keep_gradients() { keeps_ = true; }
  template <class Loss> void train(long draw, Feed const& feed, optim::Now<A> const& now, A own_rate, Loss loss) {
    machine_->adopt();
    fleet_.train(draw, feed, now, own_rate);
    fleet_.each_loss(0, loss);
    for (int w = 0; w < P::ways; ++w) {
      if (keeps_) {
        fleet_.read(w, layout_.outbox, at(w).outbox(), all);
      } else {
        fleet_.read(w, layout_.weights, at(w).weights(), all);
      }
    }
  }
  backend::host::Seen evaluate(long batch, Feed const& feed, long valid) {
    machine_->adopt();
    return fleet_.evaluate(batch, feed, valid);
  }
  void begin_at(int micro_batch) { fleet_.begin_at(micro_batch); }
  Way& at(int way) { return *way_[static_cast<std::size_t>(way)]; }
  Way const& at(int way) const { return *way_[static_cast<std::size_t>(way)]; }
  void took(int way, long offset, long count, bool masters) {
    machine_->adopt();
    if (masters) put(way, layout_.weights, at(way).weights(), offset, count);
    if constexpr (Way::narrow) put(way, layout_.copies, at(way).data_weights(), offset, count);
  }
  void emptied() {
    machine_->adopt();
    for (int w = 0; w < P::ways; ++w) fleet_.write(w, layout_.outbox, at(w).outbox(), all);
  }
  void refresh_copies() {
    machine_->adopt();
    for (int w = 0; w < P::ways; ++w) {
      at(w).refresh_copies();
      took(w, 0, P::schedule.weight_elements, true);
    }
  }
  long sent(int way) const { return fleet_.sent(way); }
  long sent_bytes(int way) const { return fleet_.sent_bytes(way); }

 private:
  static constexpr long all = P::schedule.weight_elements * static_cast<long>(sizeof(A));
  template <class E> void put(int way, long tensor, E const* from, long offset, long count) {
    fleet_.write(way, tensor + offset * static_cast<long>(sizeof(E)), from + offset,
                 count * static_cast<long>(sizeof(E)));
  }

  typename Way::Layout const& layout_;
  std::unique_ptr<Machine> machine_;
  backend::gpu::AllHere link_;
  backend::gpu::Fleet<P, Machine> fleet_;
  std::vector<std::unique_ptr<Way>> way_;
  bool keeps_ = false;
};

}  // namespace cleave::session
