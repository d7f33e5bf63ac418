// report/page.hpp - pages that need no other file, drawn in the browser from one JSON object: report.html of a run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

#include "../io/file.hpp"

namespace cleave::session {

inline constexpr std::string_view page_begin = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>cleave</title>
<style>
body{font:14px/1.45 system-ui,sans-serif;color:#222;max-width:960px;margin:24px auto;padding:0 16px}
h1{font-size:22px;margin:0}h2{font-size:16px;margin:28px 0 8px}p{margin:4px 0;color:#555}
svg{width:100%;height:auto;background:#fff}svg text{font-size:11px;fill:#555}
table{border-collapse:collapse}td,th{padding:3px 8px;text-align:right;font-weight:400}th{color:#555}
#facts td{text-align:left;padding-left:0}#samples{display:flex;flex-wrap:wrap;gap:10px}
#samples figure{margin:0;text-align:center;font-size:12px}canvas{image-rendering:pixelated;width:64px;height:64px}
.wrong{color:#b3261e}.bar{fill:#0072b2}pre{overflow:auto;background:#f6f6f6;padding:12px;font-size:12px}
</style></head><body><h1></h1><p id="told"></p><table id="facts"></table><div id="parts"></div>
<script>
'use strict';
const page =
)page";

/// What all pages draw with, and their title, sentence and facts.
inline constexpr std::string_view page_tools = R"page(;
const svgns = 'http://www.w3.org/2000/svg', colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
const number = v => v === null ? 'not finite' : v.toLocaleString('en', Number.isInteger(v) ? {} : {maximumSignificantDigits: 5});
const least = (all, of) => all.reduce((m, e) => Math.min(m, of(e)), Infinity);
function put(to, name, attributes = {}, text) {
  const e = to.namespaceURI === svgns || name === 'svg' ? document.createElementNS(svgns, name) : document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  to.append(e);
  return e;
}
function part(id, title, about) {
  const s = put(document.getElementById('parts'), 'section', {id});
  put(s, 'h2', {}, title);
  if (about) put(s, 'p', {}, about);
  return s;
}
function marks(low, high) {
  const each = 10 ** Math.floor(Math.log10((high - low) / 4)), by = [1, 2, 5, 10].map(m => m * each).find(m => (high - low) / m <= 6);
  const all = [];
  for (let v = Math.ceil(low / by) * by; v <= high + by / 1e6; v += by) all.push(Math.abs(v) < by / 1e6 ? 0 : v);
  return all;
}
/* Lines of points [x, y]; those of few points have dots. A value that is not finite leaves a gap. `low` is on the axis. */
function chart(to, lines, x_label, low = Infinity) {
  const s = put(to, 'svg', {viewBox: '0 0 928 300'}), left = 76, right = 918, top = 24, bottom = 262;
  const real = lines.flatMap(l => l.points).filter(p => p[1] !== null);
  if (!real.length) return;
  const range = i => {
    const a = i ? Math.min(low, least(real, p => p[1])) : least(real, p => p[0]), b = -least(real, p => -p[i]);
    return b - a > 1e-9 * Math.max(Math.abs(a), Math.abs(b)) ? [a, b] : [a - .5, b + .5];
  };
  const [x0, x1] = range(0), [y0, y1] = range(1);
  const x = v => left + (v - x0) / (x1 - x0) * (right - left), y = v => bottom - (v - y0) / (y1 - y0) * (bottom - top);
  for (const m of marks(y0, y1)) {
    put(s, 'line', {x1: left, x2: right, y1: y(m), y2: y(m), stroke: '#e6e6e6'});
    put(s, 'text', {x: left - 6, y: y(m) + 4, 'text-anchor': 'end'}, number(m));
  }
  for (const m of marks(x0, x1)) put(s, 'text', {x: x(m), y: bottom + 16, 'text-anchor': 'middle'}, number(m));
  put(s, 'text', {x: (left + right) / 2, y: bottom + 34, 'text-anchor': 'middle'}, x_label);
  lines.forEach((l, i) => {
    let path = '', draws = false;
    for (const p of l.points) {
      if (p[1] !== null) path += (draws ? 'L' : 'M') + x(p[0]).toFixed(1) + ' ' + y(p[1]).toFixed(1);
      draws = p[1] !== null;
    }
    put(s, 'path', {d: path, fill: 'none', stroke: colours[i % 6], 'stroke-width': 1.6});
    if (l.points.length <= 200) for (const p of l.points) if (p[1] !== null)
      put(put(s, 'circle', {class: l.kind, cx: x(p[0]), cy: y(p[1]), r: 2.6, fill: colours[i % 6]}), 'title', {}, l.name + ' ' + number(p[1]) + ' at ' + x_label + ' ' + number(p[0]));
    put(s, 'text', {x: left + Math.min(150, 840 / lines.length) * i, y: 12, style: 'fill:' + colours[i % 6]}, l.name);
  });
}
function bars(to, entries, unit) {
  const most = Math.max(...entries.map(e => e[1]), 1), s = put(to, 'svg', {viewBox: '0 0 928 ' + (entries.length * 22 + 4)});
  const left = Math.max(150, ...entries.map(e => e[0].length * 6)), wide = (710 - left) / most;
  entries.forEach(([name, value], i) => {
    put(s, 'text', {x: left, y: i * 22 + 15, 'text-anchor': 'end'}, name);
    put(s, 'rect', {class: 'bar', x: left + 8, y: i * 22 + 4, width: value * wide, height: 15});
    put(s, 'text', {x: left + 14 + value * wide, y: i * 22 + 15}, number(value) + ' ' + unit);
  });
}
/* Rows {name, spans} of two lanes; a span is [name, lane, from, long]. Its colour is that of the first word. */
const kinds = [['forward', colours[0]], ['backward', colours[1]], ['update', colours[2]], ['messages', colours[3]], ['waiting for others', '#bbb']];
function timeline(to, rows, unit) {
  const spans = rows.flatMap(r => r.spans), begin = least(spans, s => s[2]), end = -least(spans, s => -(s[2] + s[3])), bottom = rows.length * 40 + 22;
  const s = put(to, 'svg', {viewBox: '0 0 928 ' + (bottom + 20)}), left = Math.max(60, ...rows.map(r => r.name.length * 6 + 8)), x = v => left + (v - begin) / (end - begin) * (918 - left);
  kinds.forEach(([name, colour], i) => {
    put(s, 'rect', {x: left + 130 * i, y: 3, width: 10, height: 10, fill: colour});
    put(s, 'text', {x: left + 14 + 130 * i, y: 12}, name);
  });
  for (const m of marks(0, end - begin)) {
    put(s, 'line', {x1: x(begin + m), x2: x(begin + m), y1: 20, y2: bottom, stroke: '#e6e6e6'});
    put(s, 'text', {x: x(begin + m), y: bottom + 14, 'text-anchor': 'middle'}, number(m));
  }
  put(s, 'text', {x: left - 8, y: bottom + 14, 'text-anchor': 'end'}, unit);
  rows.forEach((r, i) => {
    put(s, 'text', {x: left - 8, y: i * 40 + 41, 'text-anchor': 'end'}, r.name);
    for (const [name, lane, from, long] of r.spans) {
      const fill = (name.startsWith('wait') ? kinds[4] : kinds.find(k => name.startsWith(k[0])) ?? kinds[3])[1];
      put(put(s, 'rect', {class: 'span', x: x(from), y: i * 40 + 24 + lane * 15, width: Math.max(x(from + long) - x(from), .4), height: 13, fill}), 'title', {}, name + ': ' + number(long) + ' ' + unit);
    }
  });
}
document.title = page.title;
document.querySelector('h1').textContent = page.title;
document.getElementById('told').textContent = page.told;
for (const [name, value] of Object.entries(page.facts)) {
  const r = put(document.getElementById('facts'), 'tr');
  put(r, 'th', {style: 'text-align:left'}, name);
  put(r, 'td', {}, typeof value === 'string' ? value : number(value));
}
)page";

inline constexpr std::string_view run_drawing = R"page(const run = page;
const lines = [{name: 'training loss', kind: 'training', points: run.loss}];
if (run.held_out.length) lines.push({name: 'held-out loss', kind: 'held-out', points: run.held_out.map(e => [e[0], e[1]])});
chart(part('loss', 'Loss'), lines, 'step');
if (run.held_out.some(e => e[2] !== undefined))
  chart(part('accuracy', 'Held-out accuracy'), [{name: 'accuracy', kind: 'accuracy', points: run.held_out.map(e => [e[0], e[2] ?? null])}], 'step');
run.measured.forEach(([name, points], i) => chart(part('measured-' + i, name), [{name: name, kind: 'measured', points: points}], 'step'));
if (run.confusion.length) {
  const n = Math.round(Math.sqrt(run.confusion.length)), all = part('confusion', 'Held-out samples by class', 'Rows: the label. Columns: the class of the largest output.');
  const name = i => run.classes[i] ?? String(i), t = put(all, 'table'), head = put(t, 'tr');
  put(head, 'th');
  for (let j = 0; j < n; ++j) put(head, 'th', {}, name(j));
  for (let i = 0; i < n; ++i) {
    const row = put(t, 'tr'), cells = run.confusion.slice(i * n, i * n + n), most = Math.max(...cells, 1);
    put(row, 'th', {}, name(i));
    cells.forEach((v, j) => put(row, 'td', {class: 'cell', style: 'background:' + (i === j ? 'rgba(0,114,178,' : 'rgba(213,94,0,') + (v / most * .6) + ')'}, v));
  }
}
if (run.samples.length) {
  const all = put(part('samples-of-the-test-set', 'Samples', 'The first held-out samples: the label, and under it what the model says.'), 'div', {id: 'samples'});
  for (const s of run.samples) {
    const f = put(all, 'figure'), [c, h, w] = run.sample_shape, at = put(f, 'canvas', {width: w, height: h}), to = at.getContext('2d');
    const image = to.createImageData(w, h), byte = i => parseInt(s.pixels.substr(2 * i, 2), 16);
    for (let p = 0; p < h * w; ++p) for (let k = 0; k < 4; ++k) image.data[4 * p + k] = k === 3 ? 255 : byte((c === 3 ? k * h * w : 0) + p);
    to.putImageData(image, 0, 0);
    put(f, 'div', {}, run.classes[s.label] ?? s.label);
    put(f, 'div', {class: s.label === s.predicted ? 'right' : 'wrong'}, run.classes[s.predicted] ?? s.predicted);
  }
}
if (run.timeline.length)
  timeline(part('timeline', 'Step ' + run.timeline_step + ' by rank', 'Upper row of a rank: its kernels. Lower row: its reductions, pulls and pushes.'), run.timeline, 'us');
if (run.traffic.length) bars(part('traffic', 'Bytes that a rank sends in a step, by collective', 'Of the rank that sends most.'), run.traffic, 'bytes');
const memory = part('memory', 'Memory of a rank', 'One block, allocated before the first step.');
bars(memory, run.memory, 'bytes');
if (run.memory_over_step.length) {
  put(memory, 'p', {}, 'What is in use in each line of the schedule below, in bytes:');
  chart(memory, [{name: 'bytes in use', kind: 'in-use', points: run.memory_over_step.map((v, i) => [i, v])}], 'line');
}
if (run.staleness.length) bars(part('staleness', 'Gradients by age', 'Updates of the server between the pull of a replica and the arrival of its gradient.'), run.staleness, 'gradients');
)page";

inline constexpr std::string_view page_end =
    R"page(put(put(part('plan', 'Plan'), 'details'), 'summary', {}, 'The printed schedule');
put(document.querySelector('#plan details'), 'pre', {}, page.plan);
</script></body></html>
)page";

/// Writes the page of `json`, drawn by a script over its tools. Throws Error if it cannot be written.
[[gnu::cold]] inline void write_page(std::string const& path, std::string_view json,
                                     std::string_view drawing = run_drawing) {
  std::string page(page_begin);
  for (char const c : json) c == '<' ? page += "\\u003c" : page += c;  // only in texts, where tags would end the script
  for (std::string_view const each : {page_tools, drawing, page_end}) page += each;
  io::write_file(path, io::Bytes(reinterpret_cast<unsigned char const*>(page.data()), page.size()));
}

}  // namespace cleave::session
