// train/plan_page.hpp - a plan's step on a machine, before a run: its figures as text, and as a page with a timeline.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "../plan/plan.hpp"
#include "../report/plan_drawing.hpp"
#include "losses.hpp"

namespace cleave {

/// Of which step a page or text tells.
struct PlanPage {
  int replicas = 0;  // 0: as many as the plan has, or 1
  int most = 64;     // replicas of the curve of samples a second
  std::string title = "cleave: a plan's step";
};

namespace session {

/// Throws Error if the plan cannot have so many replicas.
template <class P, class M> PlanFigures figures_of(PlanPage const& page) {
  int const n = page.replicas != 0 ? page.replicas : plan::replicas_or<P>(1);
  auto const forbids = [](int replicas) {
    if (!P::served || replicas < 1) return what_forbids(description<P>, replicas);
    std::string const why = other_than_fixed(description<P>, replicas);
    if (!why.empty() || P::agreed::parts(replicas) > 0) return why;
    return meta::joined({"Spares<", P::agreed::spares, "> of ", replicas, " replicas leave none to wait for"});
  };
  if (std::string const why = forbids(n); !why.empty()) throw Error(why);
  std::vector<int> curve;
  for (int r = 1; r <= page.most; ++r) {
    if (forbids(r).empty()) curve.push_back(r);
  }
  return plan_figures<P, M>(n, curve);
}
/// "10 Tflop/s, link 5 us and 10 GB/s".
[[gnu::cold]] inline std::string machine_text(sim::Speeds const& s) {
  auto const link = [](double latency, double of_byte) {
    return meta::joined({meta::short_number(latency / 1e3), " us and ", meta::short_number(1 / of_byte), " GB/s"});
  };
  std::string out = meta::joined({meta::short_number(s.flops / 1e3), " Tflop/s"});
  if (s.convolution_flops != s.flops)
    meta::append(out, {" (", meta::short_number(s.convolution_flops / 1e3), " in convolutions)"});
  if (s.memory_bytes > 0) meta::append(out, {", memory ", meta::short_number(s.memory_bytes), " GB/s"});
  meta::append(out, {", link ", link(s.latency_ns, s.ns_of_byte)});
  if (s.ways_latency_ns != s.latency_ns || s.ways_ns_of_byte != s.ns_of_byte)
    meta::append(out, {", within a replica ", link(s.ways_latency_ns, s.ways_ns_of_byte)});
  return out;
}
/// What the figures are of.
[[gnu::cold]] inline std::string told_of(PlanFigures const& f) {
  std::string out = meta::joined({"Modelled, not measured: ", f.replicas, f.replicas == 1 ? " replica" : " replicas"});
  if (int const each = f.ranks.ranks_of_replica(); each > 1) meta::append(out, {" of ", each, " ranks"});
  meta::append(out, {"; ", machine_text(f.speed), "."});
  if (f.program.served)
    out += " Of one replica; what it sends to the server and gets from it is in the traffic, not in the step's time.";
  return out;
}

}  // namespace session

/// Of plan P on machine M: the modelled step's time and what it goes to, memory and traffic, a line each. Throws Error
/// if the plan cannot have so many replicas.
template <class P, class M> std::string explain_step(PlanPage const& page = {}) {
  session::PlanFigures const f = session::figures_of<P, M>(page);
  std::string out = session::told_of(f) + "\n";
  for (auto const& [name, text] : session::fact_texts(f))
    meta::append(out, {schedule::text::pad(name, 28), text, "\n"});
  return out;
}
/// The same as a page that needs no other file: with a timeline of every rank, memory over the step, traffic by link,
/// and samples a second by the number of ranks. Throws Error also if the page cannot be written.
template <class P, class M> void write_plan_page(std::string const& path, PlanPage const& page = {}) {
  session::PlanFigures const f = session::figures_of<P, M>(page);
  std::string const plan =
      schedule::listing(f.program, f.request, f.ranks) + schedule::summary(f.program, f.request, f.ranks);
  session::write_page(path, session::plan_json(f, page.title, session::told_of(f), plan), session::plan_drawing);
}

}  // namespace cleave
