// report/run_report.hpp - what report.html shows of a run: curves, confusion matrix, samples, a step's timeline, traffic, memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "../io/json_line.hpp"
#include "memory_over_step.hpp"
#include "metrics.hpp"
#include "page.hpp"
#include "trace.hpp"

namespace cleave::session {

/// What is known of a run before its first step.
struct PlanFacts {
  std::string text;  // as --plan prints it
  schedule::Memory memory{};
  schedule::Traffic traffic{};    // of the rank that sends most
  std::vector<long> over_step{};  // memory in each line of the schedule
};
/// Of a plan on a mesh.
template <class = void>
[[gnu::cold]] PlanFacts plan_facts(std::string text, schedule::Program const& p, place::Request const& request,
                                   schedule::Ranks ranks) {
  return {std::move(text), schedule::largest_layout(p, request, ranks).memory,
          schedule::volumes(p, request, ranks).most, memory_over_step(p, request, ranks)};
}

/// Joins the texts of `n` JSON values, each by text(i), to a list.
template <class Text> [[gnu::cold]] std::string json_list(std::size_t n, Text text) {
  std::string out = "[";
  for (std::size_t i = 0; i < n; ++i) meta::append(out, {i > 0 ? "," : "", text(i)});
  return out += "]";
}

[[gnu::cold]] inline std::string json_pair(double a, double b) {
  return meta::joined({"[", io::number_text(a), ",", io::number_text(b), "]"});
}
[[gnu::cold]] inline std::string json_named(std::string_view name, long value) {
  return meta::joined({"[", io::quote(name), ",", value, "]"});
}
/// [name, value] of each that is not zero.
[[gnu::cold]] inline std::string json_by_verb(schedule::Traffic const& traffic) {
  std::vector<std::string> sent;
  for (int v = 0; v < static_cast<int>(op::Verb::Illegal); ++v) {
    if (traffic.bytes[v] > 0) sent.push_back(json_named(op::name(static_cast<op::Verb>(v)), traffic.bytes[v]));
  }
  return json_list(sent.size(), [&](std::size_t i) { return sent[i]; });
}
[[gnu::cold]] inline std::string json_by_category(schedule::Memory const& memory) {
  return json_list(schedule::categories, [&](std::size_t c) {
    return json_named(schedule::name(static_cast<schedule::Category>(c)), memory.bytes[c]);
  });
}

/// Samples as pictures of 1 or 3 channels, (channels, height, width), with their labels and the classes of their
/// largest outputs.
struct Pictures {
  Shape shape{};
  std::vector<int> label{}, predicted{};
  std::vector<unsigned char> pixels{};
};

/// The parts of a report that do not depend on types; each is a JSON text.
struct RunReport {
  std::string title, told;
  io::JsonLine facts{};
  std::vector<std::string> class_names{};
  std::vector<long> confusion{};
  Pictures pictures{};
  std::vector<long> ages{};

  template <class = void>
  [[gnu::cold]] std::string json(PlanFacts const& plan, schedule::Program const& program, Curves const& curves,
                                 std::vector<backend::host::Timeline const*> const& ranks) const {
    io::JsonLine all;
    all.add("title", title).add("told", told).add("facts", facts);
    io::Series const& loss = curves.losses;
    all.add_raw("loss", json_list(loss.x.size(), [&](std::size_t i) { return json_pair(loss.x[i], loss.y[i]); }));
    auto const& held_out = curves.held_out;
    all.add_raw("held_out", json_list(held_out.size(), [&](std::size_t i) {
                  auto const& h = held_out[i];
                  std::string const accuracy = std::isnan(h.accuracy) ? "" : "," + io::number_text(h.accuracy);
                  return meta::joined({"[", io::number_text(h.step), ",", io::number_text(h.loss), accuracy, "]"});
                }));
    all.add_raw("measured", json_list(curves.measured.size(), [&](std::size_t k) {
                  io::Series const& s = curves.measured[k];
                  auto const points = [&](std::size_t i) { return json_pair(s.x[i], s.y[i]); };
                  return "[" + io::quote(s.name) + "," + json_list(s.x.size(), points) + "]";
                }));
    all.add_raw("classes", json_list(class_names.size(), [&](std::size_t i) { return io::quote(class_names[i]); }));
    all.add_raw("confusion", json_list(confusion.size(), [&](std::size_t i) { return std::to_string(confusion[i]); }));
    add_pictures(all);
    add_timeline(all, program, ranks);
    std::vector<std::string> aged;
    for (std::size_t a = 0; a < ages.size(); ++a) {
      if (ages[a] > 0) aged.push_back(json_named(std::to_string(a), ages[a]));
    }
    all.add_raw("memory", json_by_category(plan.memory)).add_raw("traffic", json_by_verb(plan.traffic));
    all.add_raw("staleness", json_list(aged.size(), [&](std::size_t i) { return aged[i]; }));
    all.add_raw("memory_over_step",
                json_list(plan.over_step.size(), [&](std::size_t i) { return std::to_string(plan.over_step[i]); }));
    return all.add("plan", plan.text).text();
  }

 private:
  void add_pictures(io::JsonLine& all) const {
    Shape const& of = pictures.shape;
    auto const size = static_cast<std::size_t>(of.size());
    if (!pictures.label.empty()) all.add_raw("sample_shape", meta::joined({"[", of[0], ",", of[1], ",", of[2], "]"}));
    all.add_raw("samples", json_list(pictures.label.size(), [&](std::size_t i) {
                  std::string pixels;
                  for (std::size_t p = i * size; p < (i + 1) * size; ++p) {
                    pixels += "0123456789abcdef"[pictures.pixels[p] >> 4];
                    pixels += "0123456789abcdef"[pictures.pixels[p] & 15];
                  }
                  return io::JsonLine()
                      .add("label", pictures.label[i])
                      .add("predicted", pictures.predicted[i])
                      .add("pixels", pixels)
                      .text();
                }));
  }
  /// The last step that the timelines have.
  static void add_timeline(io::JsonLine& all, schedule::Program const& program,
                           std::vector<backend::host::Timeline const*> const& ranks) {
    long step = -1, zero = 0;
    for (auto const* t : ranks) {
      if (t && !t->spans().empty()) step = std::max(step, t->spans().back().step);
    }
    for (auto const* t : ranks) {
      if (!t) continue;
      for (auto const& s : t->spans()) {
        if (s.step == step && (zero == 0 || s.begin < zero)) zero = s.begin;
      }
    }
    std::vector<std::string> rows;
    for (std::size_t r = 0; step >= 0 && r < ranks.size(); ++r) {
      if (!ranks[r]) continue;
      std::string spans;
      for (auto const& s : ranks[r]->spans()) {
        if (s.step != step) continue;
        auto const micros = [](long ns) { return io::number_text(static_cast<double>(ns) / 1000); };
        meta::append(spans, {spans.empty() ? "" : ",", "[", io::quote(span_name(program, s)), ",",
                             static_cast<int>(s.lane), ",", micros(s.begin - zero), ",", micros(s.end - s.begin), "]"});
      }
      rows.push_back(io::JsonLine()
                         .add("name", meta::joined({"rank ", r}))
                         .add_raw("spans", meta::joined({"[", spans, "]"}))
                         .text());
    }
    all.add("timeline_step", step);
    all.add_raw("timeline", json_list(rows.size(), [&](std::size_t i) { return rows[i]; }));
  }
};

}  // namespace cleave::session
