// backend/emulate/machine.hpp - streams, events and captured graphs without a GPU, in any order that events allow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../meta/error.hpp"
#include "../host/communication/timeline.hpp"
#include "block.hpp"

namespace cleave::backend::emulate {

/// Replaces cuda/machine.hpp. Work enqueued on a stream is deferred; some of it runs immediately, the rest when it is
/// waited for, in a random order that streams and events allow. So a missing event gives a wrong result sooner or
/// later, and again with the same CLEAVE_EMULATE_SEED. What a device refuses in a capture is an Error here.
class Machine {
 public:
  using Stream = int;
  using Event = int;
  struct Node {
    std::function<void()> work;
    std::vector<long> after;
  };
  class Graph {
    friend Machine;
    std::shared_ptr<std::vector<Node> const> nodes_;  // a run may outlive the graph
  };
  static std::string title() { return "an emulated device: kernels run as the threads of blocks"; }

  explicit Machine(std::uint64_t of = 1) : order_(of) {}
  bool warpgroups = true;  // false: as a device other than Hopper
  bool has_warpgroups() const { return warpgroups; }

  /// Device memory, filled with NaNs of every format, owned by the machine.
  std::byte* allocate(long bytes) {
    not_capturing("memory is allocated");
    held_.push_back(std::unique_ptr<std::byte[], Aligned>(
        static_cast<std::byte*>(::operator new[](static_cast<std::size_t>(bytes), std::align_val_t{256}))));
    std::memset(held_.back().get(), 0xff, static_cast<std::size_t>(bytes));
    return held_.back().get();
  }
  std::byte* allocate_pinned(long bytes) { return allocate(bytes); }
  static long free_bytes() { return 1L << 40; }

  Stream stream() {
    tail_.push_back(none);
    captured_tail_.push_back(none);
    return static_cast<Stream>(tail_.size()) - 1;
  }
  Event event() {
    recorded_.push_back({});
    return static_cast<Event>(recorded_.size()) - 1;
  }

  template <class K> void launch(Stream s, int blocks, typename K::Args const& args) {
    static_assert(std::is_trivially_copyable_v<typename K::Args> &&
                  alignof(typename K::Args) <= alignof(std::max_align_t));
    launch(s, blocks, Launched<Usual>::of<K>(), &args, sizeof args);
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
  /// Whether work on this stream is captured instead of executed.
  bool captures(Stream s) const { return capturing_ && at(captured_tail_, s) != none; }

  void record(Event e, Stream s) {
    bool const captured = captures(s);
    at(recorded_, e) = {captured ? captures_ : 0, captured ? at(captured_tail_, s) : at(tail_, s)};
  }
  void wait(Stream s, Event e) {
    Recorded const& r = at(recorded_, e);
    if (r.capture != 0 && (!capturing_ || r.capture != captures_))
      throw Error("an event is waited for that was recorded in a capture which has ended");
    if (r.capture == 0 && captures(s)) throw Error("capture: an event is waited for that was not recorded in it");
    if (r.capture == 0) {
      if (r.node != none && !done(r.node)) at(tail_, s) = pend(nullptr, {at(tail_, s), r.node});
      return;
    }
    long& tail = at(captured_tail_, s);  // a stream that waits for captured work is captured too
    tail = add(nullptr, {tail, r.node});
  }

  /// Records the time at which a stream gets here; a recorded event can be read without waiting.
  Event timer() {
    times_.push_back(none);
    return static_cast<Event>(times_.size()) - 1;
  }
  void stamp(Event e, Stream s) {
    put(s, [this, e] { at(times_, e) = host::Timeline::now(); });
  }
  double milliseconds(Event from, Event to) const {
    if (at(times_, from) == none || at(times_, to) == none)
      throw Error("the time between two events is asked for before the device has come to both");
    return static_cast<double>(at(times_, to) - at(times_, from)) * 1e-6;
  }
  /// A range in profiles, which do not exist here.
  static void enter(char const*) {}
  static void leave() {}

  void begin(Stream origin) {
    not_capturing("another is begun");
    capturing_ = true;
    ++captures_;
    graph_.clear();
    captured_tail_.assign(tail_.size(), none);
    origin_ = origin;
    at(captured_tail_, origin) = add(nullptr, {});
  }
  /// As on a device, every stream must have been joined.
  Graph end() {
    capturing_ = false;
    std::vector<char> before(graph_.size(), 0);
    std::vector<long> open{at(captured_tail_, origin_)};
    while (!open.empty()) {
      long const n = open.back();
      open.pop_back();
      if (at(before, n)) continue;
      at(before, n) = 1;
      for (long a : at(graph_, n).after) open.push_back(a);
    }
    for (std::size_t n = 0; n < graph_.size(); ++n) {
      if (!before[n]) throw Error("capture: what was put on a stream is not joined again before the capture ends");
    }
    Graph g;
    g.nodes_ = std::make_shared<std::vector<Node>>(std::move(graph_));
    graph_.clear();
    return g;
  }
  void run(Graph const& g, Stream s) {
    not_capturing("a graph is run");
    auto const& nodes = *g.nodes_;
    long const first = begun_ + static_cast<long>(pending_.size());
    std::vector<bool> last(nodes.size(), true);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      std::vector<long> after;
      for (long a : nodes[n].after) {
        after.push_back(first + a);
        last[static_cast<std::size_t>(a)] = false;
      }
      if (after.empty()) after.push_back(at(tail_, s));
      pend(
          [of = g.nodes_, n] {
            if ((*of)[n].work) (*of)[n].work();
          },
          after);
    }
    std::vector<long> ends;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (last[n]) ends.push_back(first + static_cast<long>(n));
    }
    at(tail_, s) = pend(nullptr, ends);
    some();
  }
  std::function<void(bool late)> while_waiting;  // see cuda/machine.hpp; here nothing is late
  void finish(Event e) {
    Recorded const r = at(recorded_, e);
    if (r.capture != 0) throw Error("an event is waited for by the host that was recorded in a capture");
    not_capturing("the host waits for an event");
    while (r.node != none && !done(r.node)) one();
    if (while_waiting) while_waiting(false);
  }
  void finish() {
    not_capturing("the host waits for streams");
    while (!ready_.empty()) one();
    if (while_waiting) while_waiting(false);
  }
  long launches() const { return launches_; }

 private:
  static constexpr long none = -1;
  struct Aligned {
    void operator()(std::byte* at) const { ::operator delete[](at, std::align_val_t{256}); }
  };
  struct Recorded {
    long capture = 0;  // which one; 0: none
    long node = none;
  };
  /// Enqueued work that may not have run. Nodes are numbered from the machine's beginning.
  struct Pending {
    std::function<void()> work;
    int missing = 0;
    bool done = false;
    std::vector<long> then;
  };
  template <class E> static E& at(std::vector<E>& v, long i) { return v[static_cast<std::size_t>(i)]; }
  template <class E> static E const& at(std::vector<E> const& v, long i) { return v[static_cast<std::size_t>(i)]; }

  void launch(Stream s, int blocks, Launched<Usual> kernel, void const* args, std::size_t bytes) {
    auto const* first = static_cast<std::byte const*>(args);
    put(s, [this, blocks, kernel, copy = std::vector<std::byte>(first, first + bytes)] {
      kernel.on(blocks, copy.data(), order_);
    });
    ++launches_;
  }
  void not_capturing(char const* what) const {
    if (capturing_) throw Error({"capture: ", what, " before the capture has ended"});
  }
  void put(Stream s, std::function<void()> work) {
    if (!capturing_) {
      at(tail_, s) = pend(std::move(work), {at(tail_, s)});
      return some();
    }
    if (!captures(s)) throw Error("capture: a stream is used that does not wait for the first");
    at(captured_tail_, s) = add(std::move(work), {at(captured_tail_, s)});
  }
  /// A node of the graph under capture.
  long add(std::function<void()> work, std::vector<long> const& after) {
    graph_.push_back({std::move(work), {}});
    for (long a : after) {
      if (a != none) graph_.back().after.push_back(a);
    }
    return static_cast<long>(graph_.size()) - 1;
  }

  bool done(long node) const { return node < begun_ || pending_[static_cast<std::size_t>(node - begun_)].done; }
  long pend(std::function<void()> work, std::vector<long> const& after) {
    long const node = begun_ + static_cast<long>(pending_.size());
    pending_.push_back({std::move(work), 0, false, {}});
    for (long a : after) {
      if (a == none || done(a)) continue;
      pending_[static_cast<std::size_t>(a - begun_)].then.push_back(node);
      ++pending_.back().missing;
    }
    if (pending_.back().missing == 0) ready_.push_back(node);
    return node;
  }
  /// A device runs concurrently with the host: runs a random part of the work.
  void some() {
    while (!ready_.empty() && order_.draw(2) == 0) one();
  }
  void one() {
    std::swap(at(ready_, static_cast<long>(order_.draw(ready_.size()))), ready_.back());
    long const node = ready_.back();
    ready_.pop_back();
    Pending& p = pending_[static_cast<std::size_t>(node - begun_)];
    auto const work = std::move(p.work);
    p.done = true;
    for (long t : p.then) {
      if (--pending_[static_cast<std::size_t>(t - begun_)].missing == 0) ready_.push_back(t);
    }
    p.then.clear();
    for (; !pending_.empty() && pending_.front().done; ++begun_) pending_.pop_front();
    if (work) work();
  }

  std::vector<std::unique_ptr<std::byte[], Aligned>> held_;
  Order order_;
  std::vector<long> tail_;           // for each stream: the last node enqueued
  std::vector<long> captured_tail_;  // the same in the graph under capture
  std::vector<Recorded> recorded_;   // for each event
  std::vector<long> times_;          // for each timer
  std::deque<Pending> pending_;
  long begun_ = 0;           // the number of the first of them
  std::vector<long> ready_;  // those that wait for nothing
  bool capturing_ = false;
  long captures_ = 0;
  Stream origin_ = 0;
  std::vector<Node> graph_;
  long launches_ = 0;
};

}  // namespace cleave::backend::emulate
