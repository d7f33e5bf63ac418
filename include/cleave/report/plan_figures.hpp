// report/plan_figures.hpp - what is known of a plan's step on a machine before a run: time, memory and traffic, by rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../schedule/exchange_traffic.hpp"
#include "../schedule/listing.hpp"
#include "../sim/timeline.hpp"
#include "memory_over_step.hpp"

namespace cleave::session {

/// Bytes in use on a rank from a time on, in nanoseconds from the beginning of a step.
struct InUse {
  double from = 0;
  long bytes = 0;
};

/// Of a stage: all its ranks have the same layout, and none takes longer.
struct StageFigures {
  sim::Step step{};
  schedule::Memory memory{};
  std::vector<InUse> in_use{};
};

/// Modelled: times in nanoseconds. Exact: memory and traffic, in bytes.
struct PlanFigures {
  schedule::Program program{};
  place::Request request{};
  schedule::Ranks ranks{};  // that sum together: with a server those of one replica
  sim::Speeds speed{};
  int replicas = 1;
  double samples_a_second = 0;  // 0: not modelled
  long capacity = 0;            // of a rank's memory; 0: not said
  std::vector<StageFigures> stages{};
  std::vector<sim::StepTimeline> timelines{};   // of each rank
  std::vector<std::pair<int, double>> curve{};  // replicas, samples a second
  double knee = 0;  // of replicas that a server makes wait for each other: from how many on; 0: no such server

  double total() const { return stages[0].step.total; }
  StageFigures const& busiest() const {
    StageFigures const* out = stages.data();
    for (auto const& s : stages) out = s.step.bubble < out->step.bubble ? &s : out;
    return *out;
  }
  /// The part of all ranks' time in which they wait for other stages.
  double bubble() const {
    double sum = 0;
    for (auto const& s : stages) sum += s.step.bubble;
    return sum / (total() * static_cast<double>(stages.size()));
  }
  long most_memory() const {
    long most = 0;
    for (auto const& s : stages) most = std::max(most, s.memory.total);
    return most;
  }
};

/// Of plan P on `replicas` replicas, that it can have, of machine M. `curve`: the numbers of replicas to compare.
template <class P, class M> PlanFigures plan_figures(int replicas, std::vector<int> const& curve) {
  PlanFigures out{.program = schedule::program<P>, .request = P::request_of(replicas), .ranks = P::ranks_of(replicas)};
  out.speed = sim::speeds<M>(P::format.data);
  out.replicas = replicas;
  out.capacity = M::capacity;
  out.samples_a_second = sim::samples_a_second<P>(out.speed, replicas);
  sim::StepModel<P> const model(out.speed, replicas);
  std::vector<MemoryInUse> in_use;
  for (int s = 0; s < model.stages; ++s) {
    out.stages.push_back({.memory = schedule::runtime_layout(out.program, out.request, out.ranks, s).memory});
    in_use.emplace_back(schedule::program<P>, out.request, out.ranks, s);
  }
  double const total = sim::each_span(model, [&](int stage, sim::StepSpan const& s) {
    auto const i = static_cast<std::size_t>(stage);
    out.stages[i].step.add(s);
    if (s.line < 0 || sim::waits(s.what) || s.what == sim::Activity::Sum) return;
    out.stages[i].in_use.push_back({s.begin, in_use[i](s.line, s.round)});
  });
  for (auto& s : out.stages) s.step.total = total;
  out.timelines = sim::timelines<P>(out.speed, replicas);
  for (int n : curve) {
    if (double const y = sim::samples_a_second<P>(out.speed, n); y > 0) out.curve.emplace_back(n, y);
  }
  if constexpr (P::served && !P::agreed::waits) out.knee = sim::served_by<P>(out.speed).knee();
  return out;
}

/// Counts what a rank reads from each other.
struct LinkCount {
  schedule::Format const& format;
  std::vector<long>& bytes;  // by the rank that sends

  void round() {}
  void write(schedule::Write const&) {}
  void source(schedule::Source const& s) {
    bytes[static_cast<std::size_t>(s.rank)] += schedule::bytes(s.in.in, s.at.size(), format);
  }
};
/// The bytes that pass each link in a step, [reader][sender]; of sparse rows their headers. Without those to a server.
[[gnu::cold]] inline std::vector<std::vector<long>> bytes_of_links(schedule::Program const& p,
                                                                   place::Request const& request,
                                                                   schedule::Ranks ranks) {
  auto const world = static_cast<std::size_t>(ranks.world());
  std::vector<std::vector<long>> out(world, std::vector<long>(world));
  schedule::Share const share = schedule::shared(request, ranks);
  for (std::size_t reader = 0; reader < world; ++reader) {
    LinkCount count{p.format, out[reader]};
    for (int k = 0; k < p.steps; ++k) {
      int const times = schedule::once_a_step(p.step[k].what, share.sums_rounds) ? 1 : share.rounds;
      for (int round = 0; round < times; ++round)
        schedule::exchange(p, k, share, static_cast<int>(reader), round, count);
    }
    out[reader][reader] = 0;
  }
  return out;
}

/// Bytes that the rank that sends most sends in a step, by collective and the ranks that take part.
[[gnu::cold]] inline std::vector<std::pair<std::string, long>> bytes_of_groups(schedule::Program const& p,
                                                                               place::Request const& request,
                                                                               schedule::Ranks ranks) {
  int most = 0;
  for (int r = 1; r < ranks.world(); ++r) {
    auto const sends = [&](int rank) { return schedule::traffic(p, request, ranks, rank).bytes_per_step; };
    if (sends(r) > sends(most)) most = r;
  }
  std::vector<std::pair<std::string, long>> out;
  for (int k = 0; k < p.steps; ++k) {
    schedule::Message const m = schedule::message(p.step[k], p, request, ranks, most);
    if (m.bytes == 0) continue;
    std::string name(op::name(m.verb));
    if (m.verb == op::Verb::Send) {
      meta::append(name, {", ", schedule::subject(p, k)});
    } else if (m.verb == op::Verb::Push) {
      name += " to the server";
    } else {
      std::string const group = schedule::text::group(m.over, ranks);
      meta::append(name, {" over ", m.ranks, group.substr(0, group.size() - 2)});  // without ", "
    }
    auto at = std::find_if(out.begin(), out.end(), [&](auto const& e) { return e.first == name; });
    if (at == out.end()) at = out.insert(out.end(), {name, 0});
    at->second += m.bytes;
  }
  return out;
}

/// "forward 0.product+relu, round 1 of 4", "wait for sums, update 0.product", "all_reduce 0.product, 1,234 bytes".
[[gnu::cold]] inline std::string span_name(PlanFigures const& f, sim::StepSpan const& s, int rank) {
  if (s.line < 0) return std::string(sim::name(s.what));
  schedule::Step const step = f.program.step[s.line];
  std::string const about = schedule::subject(f.program, s.line);
  if (s.what == sim::Activity::Sum) {
    schedule::Message const m = schedule::message(step, f.program, f.request, f.ranks, rank);
    return meta::joined({op::name(m.verb), " ", about, ", ", schedule::text::grouped(m.bytes), " bytes"});
  }
  std::string out = meta::joined({schedule::name(step.what), " ", about});
  if (f.program.rounds > 1 && !schedule::is_of_bucket(step.what))
    meta::append(out, {", round ", s.round + 1, " of ", f.program.rounds});
  return sim::waits(s.what) ? meta::joined({sim::name(s.what), ", ", out}) : out;
}

/// "1.25 ms", "80 GiB": at most four digits.
inline std::string time_text(double ns) { return meta::short_number(ns / 1e6, 4) + " ms"; }
inline std::string bytes_text(long bytes) {
  double const n = static_cast<double>(bytes);
  return bytes >= 1L << 30   ? meta::short_number(n / (1L << 30), 4) + " GiB"
         : bytes >= 1L << 20 ? meta::short_number(n / (1L << 20), 4) + " MiB"
                             : meta::short_number(n / (1L << 10), 4) + " KiB";
}
inline std::string percent_text(double part) { return meta::short_number(100 * part, 3) + " %"; }

/// The figures with their names, in the order of a table.
[[gnu::cold]] inline std::vector<std::pair<std::string, std::string>> fact_texts(PlanFigures const& f) {
  std::vector<std::pair<std::string, std::string>> out;
  sim::Step const& s = f.busiest().step;
  auto const time = [&](char const* name, double ns) {
    out.emplace_back(name, meta::joined({time_text(ns), " (", percent_text(ns / s.total), ")"}));
  };
  out.emplace_back("step", time_text(s.total));
  if (f.samples_a_second > 0)
    out.emplace_back("samples a second", schedule::text::grouped(std::lround(f.samples_a_second)));
  time("compute", s.compute);
  time("exposed communication", s.exposed + s.converting);
  time("  of which for gradients", s.exposed);
  time("  of which conversions", s.converting);
  time("optimizer", s.updating);
  std::string bubble = percent_text(f.bubble()) + " of all ranks' time";
  if (f.program.pipeline.is_split())
    meta::append(bubble, {"; ", percent_text(schedule::bubble(f.program.pipeline.pipeline)),
                          " if all parts cost the same and messages nothing"});
  out.emplace_back("pipeline bubble", bubble);
  long const memory = f.most_memory();
  std::string in_all = bytes_text(memory);
  if (f.capacity > 0)
    meta::append(in_all, {" of ", bytes_text(f.capacity), memory > f.capacity ? ": it does not fit" : ""});
  out.emplace_back(f.stages.size() > 1 ? "memory of a rank, at most" : "memory of a rank", in_all);
  schedule::Volumes const sent = schedule::volumes(f.program, f.request, f.ranks);
  out.emplace_back(sent.even ? "sent by a rank" : "sent by a rank, at most",
                   schedule::text::grouped(sent.most.bytes_per_step) + " bytes");
  return out;
}

}  // namespace cleave::session
