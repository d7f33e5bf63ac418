// backend/gpu/communication/ranks.hpp - the ranks of a plan as one process sees them, on its device or over a link, and what they read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <deque>
#include <vector>

#include "../../host/execution/prepare.hpp"
#include "../kernels/move.hpp"
#include "../tuning/stamps.hpp"
#include "functions.hpp"

namespace cleave::backend::gpu {

/// Memory that is sent to a rank in another process, or received from it.
struct Transfer {
  int peer = 0;
  bool sends = false;
  std::byte* at = nullptr;
  long bytes = 0;
};

/// All ranks are in this process, on one device: peers' memory is read directly. A link to other processes
/// (nccl/link.hpp) defines `remote`, which rank is local, and enqueues the transfers of a group together.
struct AllHere {
  static constexpr bool remote = false;
};

template <class T, class Machine> struct One {
  using Action = host::Action<T, Device<Machine>>;
  host::Member m;
  bool here = true;
  std::byte* arena = nullptr;
  Queue<Machine> compute, sums;
  std::vector<std::vector<Action>> train, evaluate;
};

/// N is the format of the data. What `layout` views must outlive it.
template <class N, class Machine, class Link> class Ranks {
 public:
  using T = N;
  using A = tensor::accumulate_t<T>;
  using One = gpu::One<T, Machine>;
  using Event = typename Machine::Event;
  using Which = Queue<Machine> One::*;  // of a rank's streams

  Ranks(DeviceExecutable<T, Machine, Link> const& of, Machine& machine_, Link& link_, schedule::Ranks ranks,
        schedule::Share const& share_, schedule::LayoutView const& layout_)
      : program(of.program),
        functions(*of.functions),
        machine(machine_),
        link(link_),
        share(share_),
        layout(layout_),
        world(ranks, of.program.steps),
        all(static_cast<std::size_t>(ranks.world())) {
    for (int r = 0; r < ranks.world(); ++r) {
      One& one = at(r);
      one.m.world = &world;
      one.m.rank = r;
      one.m.received.assign(all.size(), 0);
      one.m.received_bytes = one.m.received;
      if constexpr (Link::remote) one.here = r == link.rank();
      if (!one.here) continue;
      one.arena = machine.allocate(layout.memory.total);
      world.arena(r) = one.arena;
      one.compute = {&machine, machine.stream(), one.arena + layout.workspace, library(), program.format.workspace};
      one.sums = {&machine, machine.stream(), nullptr};
    }
  }
  Ranks(Ranks const&) = delete;
  Ranks& operator=(Ranks const&) = delete;

  /// Ordered sums have the same bits for any number of ranks; a library's depend on the number of rows. And ways that
  /// compute the same value must get the same bits, so libraries are not used if they are in several processes.
  Library library() const {
    return program.format.ordered || (Link::remote && program.ways > 1) ? Library::Never : Library::Asked;
  }
  One& at(int r) { return all[static_cast<std::size_t>(r)]; }
  One const& at(int r) const { return all[static_cast<std::size_t>(r)]; }
  One& first_here() {
    for (One& one : all) {
      if (one.here) return one;
    }
    return all[0];
  }
  /// Element `at` of the tensor at `offset`; null for a rank in another process.
  template <class E> E* in_arena(One const& one, long offset, long at = 0) const {
    return one.arena ? reinterpret_cast<E*>(one.arena + offset) + at : nullptr;
  }

  /// What a rank enqueues between the two is a span, if the capture is traced.
  void open(One& one, Which on, host::Did did, int line, int round) {
    if (!stamps || rehearsing_) return;
    host::Lane const lane = on == &One::sums ? host::Lane::Sums : host::Lane::Compute;
    stamps->open(machine, (one.*on).stream, one.m.rank, {did, lane, line, round});
  }
  void close(One& one, Which on) {
    if (stamps && !rehearsing_) stamps->close(machine, (one.*on).stream);
  }
  void open_all(Which on, host::Did did, int line, int round) {
    for (One& one : all) {
      if (one.here) open(one, on, did, line, round);
    }
  }
  void close_all(Which on) {
    for (One& one : all) {
      if (one.here) close(one, on);
    }
  }

  /// Every local rank of the group waits for what every other has enqueued so far.
  void meet(host::Axis axis, Which from, Which to) {
    if constexpr (Link::remote) {  // one rank is local
      if (from != to && !rehearsing_) follow(from, to);
      return;
    }
    std::vector<Event> reached;
    for (One& one : all) {
      reached.push_back(machine.event());
      machine.record(reached.back(), (one.*from).stream);
    }
    for (One& one : all) {
      for (int i = 0; i < one.m.size(axis); ++i) {
        int const peer = one.m.peer(axis, i);
        if (peer != one.m.rank || from != to) machine.wait((one.*to).stream, reached[static_cast<std::size_t>(peer)]);
      }
    }
  }
  void meet(host::Axis axis) { meet(axis, &One::compute, &One::compute); }

  /// Calls put(one) for every local rank, on the stream `on`. With ranks in other processes it is first called for all
  /// ranks with `planning`: what each would read becomes a transfer, all in one group.
  template <class Put> void phase([[maybe_unused]] Which on, Put put) {
    if constexpr (Link::remote) {
      transfers_.clear();
      staged_ = 0;
      on_ = on;
      planning_ = true;
      for (One& one : all) put(one);
      planning_ = false;
      if (staged_ > area().bytes) area().bytes = staged_;
      if (rehearsing_) return;
      if (!transfers_.empty()) {  // all on one stream: the same order of groups on all ranks
        if (on != &One::sums) follow(on, &One::sums);
        link.put(machine, first_here().sums.stream, transfers_);
        if (on != &One::sums) follow(&One::sums, on);
      }
    }
    for (One& one : all) {
      if (one.here) put(one);
    }
  }
  bool planning() const { return planning_; }
  bool rehearsing() const { return rehearsing_; }

  /// Where lines can be read, and their distance there.
  template <class E> struct Lines {
    E const* at = nullptr;
    long apart = 0;
  };
  /// Reads `lines` runs of `width` elements, `apart` from each other, from element `first` of the tensor at `offset` of
  /// a peer's arena, as seen by `one`; counted. For another process, lines with gaps are packed by the sender.
  template <class E> Lines<E> reach(One& one, int peer, long offset, long first, long lines, long width, long apart) {
    if (planning_ || !Link::remote) one.m.read_from(peer, lines * width, sizeof(E));
    return found<E>(one, peer, offset, first, lines, width, apart);
  }
  /// Elements [first, first + n).
  template <class E> E const* reach(One& one, int peer, long offset, long first, long n) {
    return reach<E>(one, peer, offset, first, 1, n, n).at;
  }
  /// A message of `bytes` bytes that stands for `elements` elements.
  std::byte const* message(One& one, int peer, long offset, long elements, long bytes) {
    if (planning_ || !Link::remote) one.m.read_message(peer, elements, bytes);
    return found<std::byte>(one, peer, offset, 0, 1, bytes, bytes).at;
  }
  /// Runs `emit` without enqueuing anything, to find out how much memory transfers need.
  template <class Emit> void rehearse(Emit emit) {
    if constexpr (Link::remote) {
      rehearsing_ = true;
      emit();
      rehearsing_ = false;
      arrivals_.clear();
      for (Area& a : areas_) {
        if (a.bytes > 0) a.at = machine.allocate(a.bytes);
      }
    }
  }

  schedule::Program const program;
  DeviceFunctions<T, Machine, Link> const& functions;
  Machine& machine;
  Link& link;
  schedule::Share share;
  schedule::LayoutView const layout;
  host::World world;
  std::vector<One> all;
  Stamps<Machine>* stamps = nullptr;

 private:
  void follow(Which from, Which to) {
    Event const e = machine.event();
    machine.record(e, (first_here().*from).stream);
    machine.wait((first_here().*to).stream, e);
  }

  template <class E> Lines<E> found(One& one, int peer, long offset, long first, long lines, long width, long apart) {
    long const n = lines * width, bytes = n * static_cast<long>(sizeof(E));
    E* const there = in_arena<E>(at(peer), offset, first);
    if constexpr (Link::remote) {
      bool const dense = lines == 1 || width == apart;
      if (planning_ && n > 0 && !one.here && at(peer).here) {
        E* from = there;
        if (!dense) {
          from = stage<E>(bytes);
          if (!rehearsing_) copy_lines(at(peer).*on_, from, there, lines, width, width, apart);
        }
        transfers_.push_back({one.m.rank, true, reinterpret_cast<std::byte*>(from), bytes});
      }
      if (!one.here) return {};
      if (!at(peer).here) {
        if (planning_ && n > 0) {
          E* const to = stage<E>(bytes);
          transfers_.push_back({peer, false, reinterpret_cast<std::byte*>(to), bytes});
          arrivals_.push_back(reinterpret_cast<std::byte*>(to));
        }
        if (planning_ || n == 0) return {};
        E const* const arrived = reinterpret_cast<E const*>(arrivals_.front());
        arrivals_.pop_front();
        return {arrived, width};
      }
    }
    return {there, apart};
  }

  /// Receive buffers and packed lines for the phases of each stream. The next phase on a stream overwrites them, after
  /// this one has read them.
  struct Area {
    std::byte* at = nullptr;
    long bytes = 0;
  };
  Area& area() { return areas_[on_ == &One::sums]; }
  template <class E> E* stage(long bytes) {
    long const begin = staged_;
    staged_ += schedule::aligned(bytes);
    return reinterpret_cast<E*>(rehearsing_ ? nullptr : area().at + begin);
  }

  std::vector<Transfer> transfers_;
  std::deque<std::byte*> arrivals_;  // buffers of this phase, in the order in which they are read
  Which on_ = nullptr;
  Area areas_[2];
  long staged_ = 0;
  bool planning_ = false, rehearsing_ = false;
};

}  // namespace cleave::backend::gpu
