// report/plan_drawing.hpp - the page of a plan's figures: times, a timeline of every rank, memory, traffic and throughput.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan_figures.hpp"
#include "run_report.hpp"

namespace cleave::session {

inline constexpr std::string_view plan_drawing = R"page(
const four = v => v.toLocaleString('en', {maximumSignificantDigits: 4});
const bytes = v => v >= 2 ** 30 ? four(v / 2 ** 30) + ' GiB' : v >= 2 ** 20 ? four(v / 2 ** 20) + ' MiB' : four(v / 1024) + ' KiB';
function table(to, head, rows) {
  const t = put(to, 'table'), row = (cells, name) => {
    const r = put(t, 'tr');
    cells.forEach((c, i) => put(r, i === 0 ? 'th' : name, i === 0 ? {style: 'text-align:left;white-space:nowrap'} : {class: 'figure', style: 'white-space:nowrap'}, c));
  };
  row(head, 'th');
  for (const r of rows) row(r, 'td');
}
const share = v => four(v) + ' ms (' + (100 * v / page.total).toFixed(1) + ' %)';
table(part('times', page.stages.length > 1 ? 'Time by stage' : 'Time of a rank',
  'Modelled. Exposed: what is waited for after the backward pass. Sums that it hides are in the timeline alone.'),
  ['', 'compute', 'gradients, exposed', 'conversions', 'optimizer', 'bubble'], page.stages.map(s => [s.name, ...s.times.map(share)]));
timeline(part('timeline', 'A step by rank', 'Modelled. Upper row of a rank: what it computes, converts and updates. Lower row: sums of gradients on its link. A span says what it is where the pointer rests.'),
  page.timeline, 'ms');
const memory = part('memory', 'Memory', 'Exact, in one block for each rank' + (page.capacity ? ', of ' + bytes(page.capacity) + ' that the machine has.' : '.'));
table(memory, ['', ...page.stages[0].memory.map(m => m[0]), 'in all', ...(page.capacity ? ['of the machine'] : [])],
  page.stages.map(s => {
    const all = s.memory.reduce((sum, m) => sum + m[1], 0);
    return [s.name, ...s.memory.map(m => bytes(m[1])), bytes(all), ...(page.capacity ? [(100 * all / page.capacity).toFixed(1) + ' %'] : [])];
  }));
put(memory, 'p', {}, 'In use over the step, in MiB:');
chart(memory, page.stages.map(s => ({name: s.name.split(',')[0], kind: 'in-use', points: s.in_use.flatMap(([from, v], i) =>
  [[from, v / 2 ** 20], [s.in_use[i + 1]?.[0] ?? page.total, v / 2 ** 20]])})), 'ms', 0);
if (page.traffic.length) {
  const traffic = part('traffic', 'Traffic in a step', 'Exact' + (page.sparse ? ', but for rows that are zero and not sent' : '') + '. Of the rank that sends most, by collective:');
  bars(traffic, page.traffic, 'bytes');
  put(traffic, 'p', {}, 'The same, by the ranks that take part:');
  bars(traffic, page.groups, 'bytes');
  if (page.links.length > 1 && page.links.length <= 64) {
    put(traffic, 'p', {}, 'By link. Rows: the rank that sends. Columns: the rank that gets it.');
    const n = page.links.length, most = Math.max(...page.links.flat(), 1), each = Math.min(n > 8 ? 28 : 74, 840 / n), t = put(traffic, 'svg', {viewBox: '0 0 928 ' + (n * Math.min(each, 28) + 26)});
    const high = Math.min(each, 28);
    page.links.forEach((row, from) => {
      put(t, 'text', {x: 52, y: 20 + (from + .5) * high + 4, 'text-anchor': 'end'}, 'rank ' + from);
      put(t, 'text', {x: 60 + (from + .5) * each, y: 14, 'text-anchor': 'middle'}, from);
      row.forEach((v, to) => {
        put(put(t, 'rect', {class: 'link', x: 60 + to * each, y: 20 + from * high, width: each - 2, height: high - 2, fill: v ? 'rgba(0,114,178,' + (.1 + .35 * v / most) + ')' : '#f4f4f4'}),
          'title', {}, 'rank ' + from + ' to rank ' + to + ': ' + number(v) + ' bytes');
        if (each > 60 && v) put(t, 'text', {x: 60 + (to + .5) * each, y: 20 + (from + .5) * high + 3, 'text-anchor': 'middle'}, bytes(v));
      });
    });
  }
}
if (page.curve.length > 1) {
  const [[first, one]] = page.curve;
  chart(part('curve', 'Samples a second by the number of ranks', page.curve_told), [{name: 'modelled', kind: 'throughput', points: page.curve},
    {name: 'if each added as many', kind: 'ideal', points: [page.curve[0], page.curve.at(-1)].map(p => [p[0], p[0] / first * one])}], 'ranks', 0);
}
)page";

/// The figures as what plan_drawing draws; times in milliseconds. `plan`: as --plan prints it.
[[gnu::cold]] inline std::string plan_json(PlanFigures const& f, std::string const& title, std::string const& told,
                                           std::string const& plan) {
  auto const ms = [](double ns) { return io::number_text(ns / 1e6); };
  auto const list = [](auto const& of, auto text) {
    return json_list(of.size(), [&](std::size_t i) { return text(of[i]); });
  };
  auto const ranks = static_cast<std::size_t>(f.ranks.ranks_of_stage());
  auto const stage = [&](std::size_t i) {
    StageFigures const& s = f.stages[i];
    std::vector<double> const times{s.step.compute, s.step.exposed, s.step.converting, s.step.updating, s.step.bubble};
    std::string const of = ranks == 1 ? meta::joined({"rank ", i * ranks})
                                      : meta::joined({"ranks ", i * ranks, " to ", (i + 1) * ranks - 1});
    return io::JsonLine()
        .add("name", f.stages.size() > 1 ? meta::joined({"stage ", i, ", ", of}) : of)
        .add_raw("times", list(times, ms))
        .add_raw("memory", json_by_category(s.memory))
        .add_raw("in_use",
                 list(s.in_use, [](InUse const& u) { return json_pair(u.from / 1e6, static_cast<double>(u.bytes)); }))
        .text();
  };
  auto const timeline = [&](std::size_t r) {
    auto const span = [&](sim::StepSpan const& s) {
      bool const sum = s.what == sim::Activity::Sum;
      return meta::joined({"[", io::quote(span_name(f, s, static_cast<int>(r))), ",", sum ? 1 : 0, ",", ms(s.begin),
                           ",", ms(s.length()), "]"});
    };
    std::vector<sim::StepSpan> all = f.timelines[r].work;
    all.insert(all.end(), f.timelines[r].sums.begin(), f.timelines[r].sums.end());
    return io::JsonLine().add("name", meta::joined({"rank ", r})).add_raw("spans", list(all, span)).text();
  };
  io::JsonLine facts, all;
  for (auto const& [name, text] : fact_texts(f)) facts.add(name, text);
  all.add("title", title).add("told", told).add("facts", facts).add_raw("total", ms(f.total()));
  all.add_raw("stages", json_list(f.stages.size(), stage)).add("capacity", f.capacity);
  all.add_raw("timeline", json_list(f.timelines.size(), timeline));
  schedule::Traffic const sent = schedule::volumes(f.program, f.request, f.ranks).most;
  all.add_raw("traffic", json_by_verb(sent)).add("sparse", sent.most_bytes_per_step > sent.bytes_per_step);
  all.add_raw("groups", list(bytes_of_groups(f.program, f.request, f.ranks),
                             [](auto const& g) { return json_named(g.first, g.second); }));
  auto const links = bytes_of_links(f.program, f.request, f.ranks);
  all.add_raw("links", json_list(links.size(), [&](std::size_t from) {
                return list(links, [&](auto const& of_reader) { return std::to_string(of_reader[from]); });
              }));
  int const each = f.ranks.ranks_of_replica();
  all.add_raw("curve", list(f.curve, [&](auto const& p) { return json_pair(p.first * each, p.second); }));
  all.add("curve_told",
          f.knee > 0 ? meta::joined({"Modelled: replicas share a server. From ", meta::short_number(f.knee, 3),
                                     " replicas on, one more waits for the others."})
                     : "Modelled: replicas share a batch, and sum its gradients. The last point is the most replicas "
                       "that the plan can have.");
  return all.add("plan", plan).text();
}

}  // namespace cleave::session
