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

/// Bytes: what a rank has during the whole step, as weights and gradients, and the tensors that are alive in each line.
/// None is more than the memory's total. Empty for a pipeline, whose stages are in different lines at a time.
template <class = void>
[[gnu::cold]] std::vector<long> memory_over_step(schedule::Program const& p, place::Request const& request,
                                                 schedule::Ranks ranks) {
  if (p.pipeline.is_split()) return {};
  schedule::Share const share = schedule::shared(request, ranks);
  schedule::RuntimeLayout const layout = schedule::runtime_layout(p, request, ranks);
  struct Interval {
    long begin, end;
  };
  std::vector<Interval> places;
  for (int b = 0; b < p.buffers; ++b)
    places.push_back({layout.buffer[b], layout.buffer[b] + schedule::bytes_of(p.buffer[b], share, p.format)});
  auto const covered = [](std::vector<Interval> of) {  // tensors may have the same place, one after the other
    meta::sort(std::span(of), [](Interval const& a, Interval const& b) { return a.begin < b.begin; });
    long bytes = 0, to = 0;
    for (Interval const& at : of) {
      bytes += std::max(0L, at.end - std::max(at.begin, to));
      to = std::max(to, at.end);
    }
    return bytes;
  };
  long const during_all = layout.memory.total - covered(places);
  std::vector<long> in_use;
  for (int line = 0; line < p.steps; ++line) {
    std::vector<Interval> alive;
    for (int b = 0; b < p.buffers; ++b) {
      if (p.life[b].birth <= line && line <= p.life[b].death) alive.push_back(places[static_cast<std::size_t>(b)]);
    }
    in_use.push_back(during_all + covered(std::move(alive)));
  }
  return in_use;
}

}  // namespace cleave::session
