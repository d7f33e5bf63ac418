// report/trace.hpp - a trace of the ranks' first steps for Perfetto and chrome://tracing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "../backend/host/communication/timeline.hpp"
#include "../io/file.hpp"
#include "../io/json_line.hpp"
#include "../meta/sort.hpp"
#include "../schedule/listing.hpp"
#include "../version.hpp"

namespace cleave::session {

/// Names of spans, in the words of --plan: "forward 0.product+bias+relu", "all_reduce 0.product", "wait update
/// 0.product".
[[gnu::cold]] inline std::string span_name(schedule::Program const& p, backend::host::Span const& s) {
  using enum backend::host::Did;
  if (s.did == Load) return "load";
  if (s.did == Pull) return "pull weights";
  if (s.did == Push) return "push";
  if (s.line < 0) return "wait for weights";
  schedule::Step const line = p.step[s.line];
  std::string const about = schedule::subject(p, s.line);
  switch (s.did) {
    case Merge:
      return meta::joined({"merge ", about});
    case Reduce:
      return meta::joined({"all_reduce ", about});
    case Wait:
      return meta::joined(
          {"wait ", line.what == schedule::Do::Start ? "all_reduce" : schedule::name(line.what), " ", about});
    default:
      return meta::joined({schedule::name(p, s.line), " ", about});
  }
}

struct Trace {
  std::string json;
  long steps = 0, spans = 0, lost = 0;
};

/// The trace-event format (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): a process for each
/// rank, a thread for each of its tracks, an event for each span; microseconds from the first.
[[gnu::cold]] inline Trace trace_of(schedule::Program const& p,
                                    std::vector<backend::host::Timeline const*> const& ranks) {
  using backend::host::Lane;
  Trace out;
  std::vector<std::string> events;
  auto const names = [&](std::size_t rank, int lane, char const* what, std::string_view name) {
    io::JsonLine line;
    line.add("ph", "M").add("name", what).add("pid", rank);
    if (lane >= 0) line.add("tid", lane);
    events.push_back(line.add("args", io::JsonLine().add("name", name)).text());
  };
  long zero = std::numeric_limits<long>::max();
  std::vector<long> steps;
  for (auto const* t : ranks) {
    if (!t) continue;
    out.lost += t->lost();
    for (auto const& s : t->spans()) {
      zero = std::min(zero, s.begin);
      steps.push_back(s.step);
    }
  }
  meta::sort(std::span(steps), std::less<>());
  out.spans = static_cast<long>(steps.size());
  out.steps = std::unique(steps.begin(), steps.end()) - steps.begin();
  auto const micros = [](long ns) { return static_cast<double>(ns) / 1000; };
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r]) continue;
    std::string name = meta::joined({"rank ", r});
    if (int const stages = p.mesh.stages; stages > 1)
      meta::append(name, {", stage ", r / (ranks.size() / static_cast<std::size_t>(stages))});
    if (p.mesh.ways() > 1) meta::append(name, {", way ", r % static_cast<std::size_t>(p.mesh.ways())});
    names(r, -1, "process_name", name);
    names(r, static_cast<int>(Lane::Compute), "thread_name", "compute");
    names(r, static_cast<int>(Lane::Sums), "thread_name", "sums");
    for (auto const& s : ranks[r]->spans()) {
      io::JsonLine args;
      args.add("step", s.step);
      if (s.line >= 0) args.add("line", s.line);
      if (p.rounds > 1) args.add("round", s.round);
      events.push_back(io::JsonLine()
                           .add("ph", "X")
                           .add("name", span_name(p, s))
                           .add("pid", r)
                           .add("tid", static_cast<int>(s.lane))
                           .add("ts", micros(s.begin - zero))
                           .add("dur", micros(s.end - s.begin))
                           .add("args", args)
                           .text());
    }
  }
  out.json =
      meta::joined({"{\"otherData\":",
                    io::JsonLine().add("cleave", version).add("steps", out.steps).add("spans_lost", out.lost).text(),
                    ",\"traceEvents\":["});
  for (std::size_t i = 0; i < events.size(); ++i) meta::append(out.json, {i ? ",\n" : "\n", events[i]});
  out.json += "\n]}\n";
  return out;
}

/// The trace file of a process; with several processes, that of rank 3 is out.rank3.json for out.json.
template <class = void> std::string trace_path(std::string const& path, int rank, int processes) {
  if (processes == 1) return path;
  std::size_t const folder = path.find_last_of('/'), dot = path.find_last_of('.');
  bool const ends = dot != std::string::npos && (folder == std::string::npos || dot > folder);
  std::size_t const at = ends ? dot : path.size();
  return path.substr(0, at) + ".rank" + std::to_string(rank) + path.substr(at);
}
inline void write_trace(std::string const& path, std::string const& json) {
  io::write_file(path, io::Bytes(reinterpret_cast<unsigned char const*>(json.data()), json.size()));
}
/// Called before training: throws Error if the file cannot be written. Leaves an empty trace.
template <class = void> void check_trace(std::string const& path) {
  try {
    write_trace(path, "{\"traceEvents\":[]}\n");
  } catch (Error const& e) {
    throw Error({"--trace ", e.what(), "; name a file in a folder that is there"});
  }
}
/// The trace file of this process according to the command line, or none.
struct Tracing {
  std::string path{};
  int steps = 0;
  explicit operator bool() const { return !path.empty(); }

  void write(std::FILE* say, schedule::Program const& p,
             std::vector<backend::host::Timeline const*> const& ranks) const {
    Trace const t = trace_of(p, ranks);
    write_trace(path, t.json);
    std::fprintf(say, "wrote %s: the first %ld steps in %ld spans%s; open it in ui.perfetto.dev or chrome://tracing\n",
                 path.c_str(), t.steps, t.spans, t.lost > 0 ? ", and some did not fit" : "");
  }
};

}  // namespace cleave::session
