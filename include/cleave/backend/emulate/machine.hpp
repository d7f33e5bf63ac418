// backend/emulate/machine.hpp - streams, events and captured graphs without a GPU: a graph is run in any order its events allow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "../../meta/error.hpp"
#include "../host/timeline.hpp"
#include "block.hpp"

namespace cleave::backend::emulate {

/// Stands where cuda/machine.hpp stands. What is captured becomes nodes with what each waits for; a run takes them in
/// an order drawn anew each time, so that an event too few shows as a wrong result, sooner or later, and by seed again.
class Machine {
 public:
  using Stream = int;
  using Event = int;
  struct Node {
    std::function<void()> work;
    std::vector<int> after;
  };
  using Graph = std::vector<Node>;
  static std::string title() { return "an emulated device: kernels run as the threads of blocks, one after another"; }

  explicit Machine(std::uint64_t seed = 1) : random_(seed * 2 + 1) {}

  /// Device memory, filled with NaNs of every format, until the machine ends.
  std::byte* allocate(long bytes) {
    held_.push_back(std::unique_ptr<std::byte[], Aligned>(
        static_cast<std::byte*>(::operator new[](static_cast<std::size_t>(bytes), std::align_val_t{256}))));
    std::memset(held_.back().get(), 0xff, static_cast<std::size_t>(bytes));
    return held_.back().get();
  }
  std::byte* allocate_pinned(long bytes) { return allocate(bytes); }
  static long free_bytes() { return 1L << 40; }

  Stream stream() { return streams_++; }
  Event event() {
    recorded_.push_back(-1);
    return static_cast<Event>(recorded_.size()) - 1;
  }

  template <class K> void launch(Stream s, int blocks, typename K::Args const& args) {
    put(s, [blocks, args] { emulate::launch<K>(blocks, args); });
    ++launches_;
  }
  void copy(Stream s, void* to, void const* from, long bytes) {
    put(s, [=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  void clear(Stream s, void* at, long bytes) {
    put(s, [=] { std::memset(at, 0, static_cast<std::size_t>(bytes)); });
  }
  static void adopt() {}
  /// Host work on a stream.
  void call(Stream s, std::function<void()> work) { put(s, std::move(work)); }
  void record(Event e, Stream s) {
    if (capturing_) recorded_[static_cast<std::size_t>(e)] = tail(s);
  }
  void wait(Stream s, Event e) {
    if (!capturing_) return;
    int const node = recorded_[static_cast<std::size_t>(e)];
    if (node < 0) return;
    put(s, nullptr);
    graph_.back().after.push_back(node);
  }

  /// The time when a stream has come here; an event that was stamped is there to be read, not to be waited for.
  Event timer() {
    times_.push_back(0);
    return static_cast<Event>(times_.size()) - 1;
  }
  void stamp(Event e, Stream s) {
    put(s, [this, e] { times_[static_cast<std::size_t>(e)] = host::Timeline::now(); });
  }
  double milliseconds(Event from, Event to) const {
    return static_cast<double>(times_[static_cast<std::size_t>(to)] - times_[static_cast<std::size_t>(from)]) * 1e-6;
  }
  /// A range in profiles, of which there are none here.
  static void enter(char const*) {}
  static void leave() {}

  void begin(Stream origin) {
    capturing_ = true;
    graph_.clear();
    tails_.assign(static_cast<std::size_t>(streams_), -1);
    recorded_.assign(recorded_.size(), -1);
    origin_ = origin;
    put(origin, nullptr);
  }
  /// As on a device, every stream must have been joined again, and have begun behind the origin.
  Graph end() {
    std::vector<bool> before(graph_.size(), false);
    std::vector<int> open{tail(origin_)};
    while (!open.empty()) {
      int const n = open.back();
      open.pop_back();
      if (before[static_cast<std::size_t>(n)]) continue;
      before[static_cast<std::size_t>(n)] = true;
      for (int a : graph_[static_cast<std::size_t>(n)].after) open.push_back(a);
    }
    for (std::size_t n = 0; n < graph_.size(); ++n) {
      if (!before[n]) throw Error("capture: what was put on a stream is not joined again before the capture ends");
      if (n > 0 && graph_[n].after.empty()) throw Error("capture: a stream was used that does not wait for the first");
    }
    capturing_ = false;
    return std::move(graph_);
  }
  void run(Graph const& g, Stream) {
    std::vector<int> missing(g.size());
    std::vector<std::vector<int>> then(g.size());
    std::vector<int> ready;
    for (std::size_t n = 0; n < g.size(); ++n) {
      missing[n] = static_cast<int>(g[n].after.size());
      for (int a : g[n].after) then[static_cast<std::size_t>(a)].push_back(static_cast<int>(n));
      if (missing[n] == 0) ready.push_back(static_cast<int>(n));
    }
    while (!ready.empty()) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      std::swap(ready[static_cast<std::size_t>(random_ >> 33) % ready.size()], ready.back());
      auto const n = static_cast<std::size_t>(ready.back());
      ready.pop_back();
      if (g[n].work) g[n].work();
      for (int t : then[n]) {
        if (--missing[static_cast<std::size_t>(t)] == 0) ready.push_back(t);
      }
    }
  }
  std::function<void(bool late)> while_waiting;  // see cuda/machine.hpp; here nothing is late
  void finish(Event) const { finish(); }
  void finish() const {
    if (while_waiting) while_waiting(false);
  }
  long launches() const { return launches_; }

 private:
  struct Aligned {
    void operator()(std::byte* at) const { ::operator delete[](at, std::align_val_t{256}); }
  };
  int& tail(Stream s) { return tails_[static_cast<std::size_t>(s)]; }
  void put(Stream s, std::function<void()> work) {
    if (!capturing_) {
      if (work) work();
      return;
    }
    graph_.push_back({std::move(work), {}});
    if (tail(s) >= 0) graph_.back().after.push_back(tail(s));
    tail(s) = static_cast<int>(graph_.size()) - 1;
  }

  std::vector<std::unique_ptr<std::byte[], Aligned>> held_;
  int streams_ = 0;
  std::vector<int> recorded_;  // of each event: the node it stands behind
  std::vector<int> tails_;     // of each stream
  std::vector<long> times_;    // of each timer
  bool capturing_ = false;
  Stream origin_ = 0;
  Graph graph_;
  std::uint64_t random_;
  long launches_ = 0;
};

}  // namespace cleave::backend::emulate
