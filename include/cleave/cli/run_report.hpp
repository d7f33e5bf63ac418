// cli/run_report.hpp - what report.html shows of a run: curves, confusion matrix, samples, a step's timeline, traffic, memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "../backend/host/execution/feed.hpp"
#include "../io/images.hpp"
#include "../io/json_line.hpp"
#include "../report/metrics.hpp"
#include "../report/page.hpp"
#include "../report/trace.hpp"

namespace cleave::session {

/// What is known of a run before its first step.
struct PlanFacts {
  std::string text;  // as --plan prints it
  schedule::Memory memory{};
  schedule::Traffic traffic{};  // of the rank that sends most
};
/// Of a plan on a mesh.
template <class = void>
[[gnu::cold]] PlanFacts plan_facts(std::string text, schedule::Program const& p, place::Request const& request,
                                   schedule::Ranks ranks) {
  return {std::move(text), schedule::largest_layout(p, request, ranks).memory,
          schedule::volumes(p, request, ranks).most};
}

/// Joins the texts of `n` JSON values, each by text(i), to a list.
template <class Text> [[gnu::cold]] std::string json_list(std::size_t n, Text text) {
  std::string out = "[";
  for (std::size_t i = 0; i < n; ++i) meta::append(out, {i > 0 ? "," : "", text(i)});
  return out += "]";
}

/// The first of these test images, with the class of each one's largest output. `classes`: outputs of the model.
struct SeenSamples {
  io::Images const* set = nullptr;
  std::vector<int> predicted{};
};
/// An evaluation in which sample i has label i: the confusion matrix has one sample a row, at its predicted class. So
/// every trainer can tell predictions, wherever its ranks are.
template <class Trained>
std::vector<int> predicted_classes(Trained& trainer, backend::host::Feed const& test, long classes, long samples) {
  struct Numbered {
    backend::host::Feed of;
    long first;
  };
  std::vector<int> out;
  while (static_cast<long>(out.size()) < samples) {
    Numbered const from{test, static_cast<long>(out.size())};
    backend::host::Feed const numbered{&from,
                                       [](void const* self, long, long first, int count, float* to) {
                                         auto const& me = *static_cast<Numbered const*>(self);
                                         me.of.pixels(me.of.self, 0, me.first + first, count, to);
                                       },
                                       [](void const*, long, long first, int count, int* to) {
                                         for (int i = 0; i < count; ++i) to[i] = static_cast<int>(first) + i;
                                       }};
    long const count =
        std::min({classes, samples - from.first, long{description_of(trainer).batch}});  // one batch, whose step is 0
    auto const pairs = trainer.score(numbered, count).confusion;
    for (long i = 0; i < count; ++i) {
      auto const row = pairs.begin() + i * classes;
      out.push_back(static_cast<int>(std::max_element(row, row + classes) - row));
    }
  }
  return out;
}

/// The parts of a report that do not depend on types; each is a JSON text.
struct RunReport {
  std::string title, told;
  io::JsonLine facts{};
  std::vector<std::string> class_names{};
  std::vector<long> confusion{};
  SeenSamples samples{};
  std::vector<long> ages{};

  template <class = void>
  [[gnu::cold]] std::string json(PlanFacts const& plan, schedule::Program const& program, Metrics const& metrics,
                                 std::vector<backend::host::Timeline const*> const& ranks) const {
    io::JsonLine all;
    all.add("title", title).add("told", told).add("facts", facts);
    io::Series const& loss = metrics.losses();
    all.add_raw("loss", json_list(loss.x.size(), [&](std::size_t i) { return pair(loss.x[i], loss.y[i]); }));
    auto const& held_out = metrics.held_out();
    all.add_raw("held_out", json_list(held_out.size(), [&](std::size_t i) {
                  auto const& h = held_out[i];
                  std::string const accuracy = std::isnan(h.accuracy) ? "" : "," + io::number_text(h.accuracy);
                  return meta::joined({"[", io::number_text(h.step), ",", io::number_text(h.loss), accuracy, "]"});
                }));
    all.add_raw("classes", json_list(class_names.size(), [&](std::size_t i) { return io::quote(class_names[i]); }));
    all.add_raw("confusion", json_list(confusion.size(), [&](std::size_t i) { return std::to_string(confusion[i]); }));
    add_samples(all);
    add_timeline(all, program, ranks);
    std::vector<std::string> bytes, elements, aged;
    for (int c = 0; c < schedule::categories; ++c)
      bytes.push_back(named(schedule::name(static_cast<schedule::Category>(c)), plan.memory.bytes[c]));
    for (int v = 0; v < static_cast<int>(op::Verb::Illegal); ++v) {
      if (plan.traffic.elements[v] > 0)
        elements.push_back(named(op::name(static_cast<op::Verb>(v)), plan.traffic.elements[v]));
    }
    for (std::size_t a = 0; a < ages.size(); ++a) {
      if (ages[a] > 0) aged.push_back(named(std::to_string(a), ages[a]));
    }
    auto const list = [&](std::vector<std::string> const& of) {
      return json_list(of.size(), [&](std::size_t i) { return of[i]; });
    };
    all.add_raw("memory", list(bytes)).add_raw("traffic", list(elements)).add_raw("staleness", list(aged));
    return all.add("plan", plan.text).text();
  }

 private:
  static std::string pair(double a, double b) {
    return meta::joined({"[", io::number_text(a), ",", io::number_text(b), "]"});
  }
  static std::string named(std::string_view name, long value) {
    return meta::joined({"[", io::quote(name), ",", value, "]"});
  }
  void add_samples(io::JsonLine& all) const {
    if (!samples.set) return static_cast<void>(all.add_raw("samples", "[]"));
    io::Images const& set = *samples.set;
    all.add_raw("sample_shape", meta::joined({"[", set.channels, ",", set.height, ",", set.width, "]"}));
    all.add_raw("samples", json_list(samples.predicted.size(), [&](std::size_t i) {
                  std::string pixels;
                  for (unsigned char const byte : set.picture(static_cast<int>(i))) {
                    pixels += "0123456789abcdef"[byte >> 4];
                    pixels += "0123456789abcdef"[byte & 15];
                  }
                  return io::JsonLine()
                      .add("label", set.label(static_cast<int>(i)))
                      .add("predicted", samples.predicted[i])
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
