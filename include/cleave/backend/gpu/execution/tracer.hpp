// backend/gpu/execution/tracer.hpp - traced steps of a device: separate graphs with timestamps, and each rank's timeline.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <vector>

#include "../tuning/stamps.hpp"

namespace cleave::backend::gpu {

/// Of the ranks of a device; a step has a graph for each of `Graphs` staging buffers.
template <class Machine, int Graphs> class Tracer {
 public:
  using Stream = typename Machine::Stream;
  using Event = typename Machine::Event;

  /// The next `steps` steps are traced. `capture(b, stamps)` returns the graph of staging buffer b, with the timestamps
  /// that it takes. `more`: additional spans in each step.
  template <class Capture>
  void start(Machine& machine, std::vector<bool> const& here, int steps, std::size_t more, Capture capture) {
    if (!zero_) zero_ = machine.timer();
    machine.finish();
    timelines_.assign(here.size(), {});
    for (int b = 0; b < Graphs; ++b) {
      stamps_[b] = {};
      graph_[b] = capture(b, &stamps_[b]);
    }
    for (std::size_t r = 0; r < here.size(); ++r) {
      if (here[r]) timelines_[r] = host::Timeline(steps, stamps_[0].size() + more);
    }
    left_ = steps;
    zero_was_ = 0;
  }
  /// Whether the next step is traced.
  bool traces() const { return left_ > 0; }
  /// Runs a step, and waits for it.
  void run(Machine& machine, Stream stream, int b, Event done, long step) {
    if (zero_was_ == 0) {
      machine.stamp(*zero_, stream);
      machine.finish();
      zero_was_ = host::Timeline::now();
    }
    machine.run(graph_[b], stream);
    machine.record(done, stream);
    machine.finish(done);
    stamps_[b].read(machine, *zero_, zero_was_, step, timelines_);
    --left_;
  }
  host::Timeline& timeline(int rank, std::size_t ranks) {
    if (timelines_.empty()) timelines_.resize(ranks);
    return timelines_[static_cast<std::size_t>(rank)];
  }
  /// Null if nothing was traced.
  host::Timeline const* find(int rank) const {
    return timelines_.empty() ? nullptr : &timelines_[static_cast<std::size_t>(rank)];
  }

 private:
  typename Machine::Graph graph_[Graphs];
  Stamps<Machine> stamps_[Graphs];
  std::vector<host::Timeline> timelines_;
  std::optional<Event> zero_;
  int left_ = 0;
  long zero_was_ = 0;  // host clock
};

}  // namespace cleave::backend::gpu
