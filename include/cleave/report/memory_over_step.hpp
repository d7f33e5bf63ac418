// report/memory_over_step.hpp - how much of a rank's memory is in use in each line of its schedule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "../meta/sort.hpp"
#include "../schedule/arena.hpp"
#include "../schedule/program.hpp"

namespace cleave::session {

/// How much is in use on a rank of a stage in each line of its schedule, in bytes: what a rank has during the whole
/// step, as weights and gradients, and the tensors that are alive. Of a pipeline also those of the micro-batches that
/// have gone forward and not yet back. None is more than the memory's total.
class MemoryInUse {
 public:
  MemoryInUse(schedule::Program const& p, place::Request const& request, schedule::Ranks ranks, int stage = 0)
      : p_(p),
        stage_(stage),
        share_(schedule::shared(request, ranks)),
        layout_(schedule::runtime_layout(p, request, ranks, stage)),
        begun_(static_cast<std::size_t>(p.pipeline.pipeline.parts())),
        ended_(begun_) {
    std::vector<Interval> places;
    each_temporary([&](int b) {
      for (int slot = 0; slot < slots(b); ++slot) places.push_back(at(b, slot));
    });
    during_all_ = layout_.memory.total - covered(std::move(places));
  }

  /// Lines are asked for in the order in which a rank runs them.
  long operator()(int line, int round) {
    int const part = schedule::part_of(p_, p_.step[line]);
    bool const back = line >= p_.forward_steps;
    if (part >= 0) (back ? ended_ : begun_)[static_cast<std::size_t>(part)] = round + 1;
    std::vector<Interval> alive;
    each_temporary([&](int b) {
      schedule::Life const& life = p_.life[b];
      int const of = p_.buffer[b].part;
      bool const here = !p_.pipeline.is_split() || of == part;
      if (here && life.birth <= line && line <= life.death) alive.push_back(at(b, round));
      if (layout_.slots_apart[b] == 0) return;
      auto const i = static_cast<std::size_t>(of);
      for (int other = ended_[i]; other < begun_[i]; ++other) {
        if (!here || other != round) alive.push_back(at(b, other));
      }
    });
    return during_all_ + covered(std::move(alive));
  }

 private:
  struct Interval {
    long begin, end;
  };
  int slots(int b) const { return layout_.slots_apart[b] > 0 ? p_.pipeline.slots(p_.buffer[b].part) : 1; }
  Interval at(int b, int round) const {
    long const begin = layout_.buffer[b] + round % slots(b) * layout_.slots_apart[b];
    return {begin, begin + schedule::bytes_of(p_.buffer[b], share_, p_.format)};
  }
  /// Of the stage's buffers those that are not in use during the whole step, as what another stage reads is.
  template <class Visit> void each_temporary(Visit visit) const {
    for (int b = 0; b < p_.buffers; ++b) {
      bool const kept = p_.pipeline.is_split() && schedule::outlives_task(p_.life[b], p_.forward_steps);
      if (p_.pipeline.stage(p_.buffer[b].part) == stage_ && (!kept || layout_.slots_apart[b] > 0)) visit(b);
    }
  }
  static long covered(std::vector<Interval> of) {  // tensors may have the same place, one after the other
    meta::sort(std::span(of), [](Interval const& a, Interval const& b) { return a.begin < b.begin; });
    long bytes = 0, to = 0;
    for (Interval const& i : of) {
      bytes += std::max(0L, i.end - std::max(i.begin, to));
      to = std::max(to, i.end);
    }
    return bytes;
  }

  schedule::Program const& p_;
  int stage_;
  schedule::Share share_;
  schedule::RuntimeLayout layout_;
  std::vector<int> begun_, ended_;  // of each part: micro-batches, forward and back
  long during_all_ = 0;
};

/// In each line. Empty for a pipeline, whose stages are in different lines at a time.
template <class = void>
[[gnu::cold]] std::vector<long> memory_over_step(schedule::Program const& p, place::Request const& request,
                                                 schedule::Ranks ranks) {
  std::vector<long> in_use;
  if (p.pipeline.is_split()) return in_use;
  MemoryInUse at(p, request, ranks);
  for (int line = 0; line < p.steps; ++line) in_use.push_back(at(line, 0));
  return in_use;
}

}  // namespace cleave::session
