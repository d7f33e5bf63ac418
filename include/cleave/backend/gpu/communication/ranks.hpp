// backend/gpu/communication/ranks.hpp - the ranks of a plan as one process sees them: their memory, their streams, and how these wait for each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "../../../schedule/optimizer_parts.hpp"
#include "../../host/execution/prepare.hpp"
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
  std::vector<host::RoundOfActions<Action>> train, evaluate;
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
      long const room = on_device(program.format).workspace;
      bool const inside = layout.memory[schedule::Category::Workspace] >= room;  // not if a host made the layout
      one.compute = {&machine, machine.stream(), inside ? one.arena + layout.workspace : machine.allocate(room),
                     library(), program.format.workspace};
      one.sums = {&machine, machine.stream(), nullptr};
    }
  }
  Ranks(Ranks const&) = delete;
  Ranks& operator=(Ranks const&) = delete;

  /// Ordered sums have the same bits for any number of ranks; a library's depend on the number of rows. And ways that
  /// compute the same value must get the same bits, so libraries are not used if they are in several processes.
  Library library() const {
    return program.format.ordered || (Link::remote && program.mesh.ways() > 1) ? Library::Never : Library::Asked;
  }
  schedule::OptimizerParts parts() const { return {&program, &share.ranks}; }
  bool keeps_gradients() const {
    return schedule::keeps_gradients(program.format, share.ranks, program.waits_for_norm, program.rounds);
  }
  /// The words of a rank's part of the norm; 0 if it has all gradients of its way.
  int norm_digits() const {
    bool const of_parts = schedule::sums_parts_of_norm(program, program.format, share.ranks);
    return of_parts ? schedule::squares_words(program.format.sum) : 0;
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
  /// The state of the plan's LossScale, if it has one.
  A* loss_scale(One const& one) const { return in_arena<A>(one, layout.states, program.loss_scale); }

  /// What a rank enqueues between the two is a span, if the capture is traced.
  void open(One& one, Which on, host::Did did, int line, int round) {
    if (!stamps) return;
    host::Lane const lane = on == &One::sums ? host::Lane::Sums : host::Lane::Compute;
    stamps->open(machine, (one.*on).stream, one.m.rank, {did, lane, line, round});
  }
  void close(One& one, Which on) {
    if (stamps) stamps->close(machine, (one.*on).stream);
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

  /// Every local rank waits for what those of its group have enqueued so far that it reads: reads(rank, peer).
  template <class Reads> void meet(schedule::AxisSet over, Which from, Which to, [[maybe_unused]] Reads reads) {
    if constexpr (Link::remote) {  // one rank is local
      if (from != to) follow(first_here(), from, to);
      return;
    }
    std::vector<Event> reached;
    for (One& one : all) {
      reached.push_back(machine.event());
      machine.record(reached.back(), (one.*from).stream);
    }
    for (One& one : all) {
      schedule::RankGroup const group = one.m.group(over);
      for (int i = 0; i < group.size; ++i) {
        int const peer = group.rank(i);
        if (peer != one.m.rank ? reads(one.m.rank, peer) : from != to)
          machine.wait((one.*to).stream, reached[static_cast<std::size_t>(peer)]);
      }
    }
  }
  /// For what every other has.
  void meet(schedule::AxisSet over, Which from, Which to) {
    meet(over, from, to, [](int, int) { return true; });
  }
  void meet(schedule::AxisSet over) { meet(over, &One::compute, &One::compute); }

  /// This rank's stream `to` waits for `from`.
  void follow(One const& one, Which from, Which to) {
    Event const e = machine.event();
    machine.record(e, (one.*from).stream);
    machine.wait((one.*to).stream, e);
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
};

}  // namespace cleave::backend::gpu
