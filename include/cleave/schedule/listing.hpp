// schedule/listing.hpp - a plan as text: one line a step, its traffic and its memory. Stable output, suited for diffs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <string>

#include "../meta/text.hpp"
#include "volume.hpp"

namespace cleave::schedule {

namespace text {
[[gnu::noinline]] inline std::string pad(std::string const& s, std::size_t width) {
  return meta::joined({s, std::string(s.size() < width ? width - s.size() : 0, ' ')});
}
[[gnu::noinline]] inline std::string left(std::string const& s, std::size_t width) {
  return meta::joined({std::string(s.size() < width ? width - s.size() : 0, ' '), s});
}
[[gnu::noinline]] inline std::string grouped(long n) {
  std::string const digits = std::to_string(n);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}
inline std::string shape(Shape s) {
  std::string out = "(b";
  for (int d = 0; d < s.dims; ++d) meta::append(out, {", ", s[d]});
  return out + ")";
}
/// Of a tensor of samples its dimensions are counted without the batch.
inline std::string placement(place::Placement p, bool samples = true) {
  switch (p.kind) {
    case place::Kind::Replicate:
      return "replicate";
    case place::Kind::Partial:
      return "partial";
    case place::Kind::Shard:
      if (samples && p.dim == place::batch) return "shard<batch>";
      if (p.unit > 1) return meta::joined({"shard<", p.dim - samples, " in groups of ", p.unit, ">"});
      return meta::joined({"shard<", p.dim - samples, ">"});
    default:
      return "invariant";
  }
}
/// Along each of these axes.
inline std::string placements(place::Sharding const& s, AxisSet axes, bool samples = true) {
  std::string out;
  for (int a = 0; a < place::most_axes; ++a) {
    if (axes.has(a)) meta::append(out, {out.empty() ? "" : ", ", placement(s.on[a], samples)});
  }
  return out;
}
inline std::string group(AxisSet over, Ranks const& ranks) {
  if (over == ranks.all()) return " ranks, ";
  if (over == ranks.of_replica()) return " ways, ";
  if (over == over_data) return " replicas, ";
  bool const one = (over.bits & (over.bits - 1)) == 0;
  std::string axes;
  for (int a = 0; a < ranks.axes; ++a) {
    if (over.has(a)) meta::append(axes, {!axes.empty() ? " and " : one ? " ranks of axis " : " ranks of axes ", a});
  }
  return axes + ", ";
}
/// "2 x 3": the ranks of a replica along each axis.
inline std::string ways(Ranks const& ranks) {
  std::string out;
  for (int a = place::data_axis + 1; a < ranks.axes; ++a) meta::append(out, {out.empty() ? "" : " x ", ranks.size[a]});
  return out;
}
/// Of a pipeline: which layers are in which stage, in which order the stages take them, and how long they wait.
inline std::string pipeline(Program const& p) {
  Pipeline const& of = p.pipeline.pipeline;
  std::string const chunks = of.chunks > 1 ? " of " + std::to_string(of.chunks) + " parts each" : "";
  std::string out = meta::joined({"pipeline of ", of.stages, " stages", chunks, ", ", p.pipeline.order, ", ",
                                  of.micro_batches, " rounds; a stage waits for ", std::lround(bubble(of) * 100),
                                  " % of the time, if all parts cost the same\n"});
  for (int s = 0; s < of.stages; ++s) {
    std::string layers, kept;
    for (int part = s; part < of.parts(); part += of.stages) {
      int first = -1, last = -1;
      for (int k = 0; k < p.nodes; ++k) {
        if (p.node[k].op < 0 || p.node[k].part != part) continue;
        first = first < 0 ? p.node[k].leaf : first;
        last = p.node[k].leaf;
      }
      meta::append(layers, {layers.empty() ? "" : ", ", first, first == last ? "" : " to " + std::to_string(last)});
      meta::append(kept, {kept.empty() ? "" : ", ", p.pipeline.slots(part)});
    }
    meta::append(out, {"  stage ", s, ": layers ", layers, "; ", grouped(stage_elements(p, s)),
                       " weights; activations of up to ", kept, kept == "1" ? " round\n" : " rounds\n"});
  }
  return out;
}
}  // namespace text

/// What a line does: a forward step on the way back computes values again that were not kept.
constexpr std::string_view name(Program const& p, int line) {
  return p.step[line].what == Do::Forward && line >= p.forward_steps ? "recompute" : name(p.step[line].what);
}
/// The subject of a line: "0.product+bias+relu", or the placements of a conversion. In backward_input, "2.product+relu"
/// means that the gradient also passes through the relu before the product.
[[gnu::cold]] inline std::string subject(Program const& p, int line) {
  Step const s = p.step[line];
  bool const bucket = is_of_bucket(s.what);
  int const n = bucket ? p.bucket[s.node].node : s.node;
  if (s.what == Do::Norm) return "gradients";
  if (n < 0) return {};
  ProgramNode const& node = p.node[n];
  if (int const sender = sender_of(p, s); sender >= 0)
    return meta::joined({"stage ", p.pipeline.stage(sender), " -> stage ", p.pipeline.stage(part_of(p, s))});
  if (node.op < 0) {
    bool const forth = s.what == Do::Convert;
    if (node.padded.height > 0) {
      int const own = node.local.x[1], read = node.local.y[1];
      return meta::joined({forth ? own : read, " -> ", forth ? read : own, " rows of images"});
    }
    auto const text = [&](place::Sharding const& of) { return text::placements(of, node.converted_along()); };
    return meta::joined(
        {text(forth ? node.x : place::gradient(node.y)), " -> ", text(forth ? node.y : place::gradient(node.x))});
  }
  std::string out = meta::joined({node.leaf, ".", node.name});
  if (s.what == Do::Forward) {
    for (int const m : {p.bias[n], p.map[n]}) {
      if (m >= 0) meta::append(out, {"+", p.node[m].name});
    }
  }
  bool const back = s.what == Do::BackwardInput;
  int const tail = back || s.what == Do::Forward ? p.tail(n, back) : 0;
  for (int i = 0; i < tail; ++i) {
    int const m = p.behind(n, back, i);
    meta::append(out, {"+", m < 0 ? "add" : p.node[m].name});
  }
  return out;
}

/// The message of a step on the rank that sends most; `even`: all ranks send the same amount.
struct Largest {
  Message message;
  bool even = true;
};
inline Largest largest(Program const& p, Step s, place::Request request, Ranks ranks) {
  auto const size = [](Message const& m) { return m.bytes + m.most_bytes; };
  int const sender = sender_of(p, s), part = sender < 0 ? part_of(p, s) : sender,
            first = part < 0 ? 0 : p.pipeline.stage(part) * ranks.ranks_of_stage();
  Largest l{message(s, p, request, ranks, first)};
  int const past = part < 0 ? ranks.world() : first + ranks.ranks_of_stage();
  for (int r = first + 1; r < past && l.message.verb != op::Verb::None; ++r) {
    Message const m = message(s, p, request, ranks, r);
    if (size(m) != size(l.message)) l.even = false;
    if (size(m) > size(l.message)) l.message = m;
  }
  return l;
}

/// One line per step: number, kind, operation, output shape, its placement on each axis of a replica, and the traffic
/// of each rank; "up to" is that of the rank that sends most. `request` and `ranks` are those of the ranks that sum
/// together.
template <class = void>
[[gnu::cold]] std::string listing(Program const& p, place::Request const& request, Ranks ranks) {
  std::string out;
  if (p.pipeline.is_split()) {
    out = text::pipeline(p);
  } else if (p.rounds > 1) {
    bool const sums = shared(request, ranks).sums_rounds, norm = p.waits_for_norm;
    char const* const of_step = norm ? "start, norm and update" : "start and update";
    char const* const behind_sums = norm ? "norm and update" : "update";
    out =
        meta::joined({"in each of ", p.rounds, " rounds, but ", sums ? behind_sums : of_step, " in the last alone:\n"});
  }
  if (p.blocks > 1) meta::append(out, {"sums of products are trees of at most ", p.blocks, " blocks:\n"});
  for (int k = 0; k < p.steps; ++k) {
    Step const s = p.step[k];
    bool const bucket = is_of_bucket(s.what);
    int const n = bucket ? p.bucket[s.node].node : s.node;
    std::string line = text::left(std::to_string(k), 4) + "  ";
    if (int const part = part_of(p, s); p.pipeline.is_split())
      meta::append(line, {part < 0 ? "all" : text::left(std::to_string(p.pipeline.stage(part)), 3), "  "});
    meta::append(line, {text::pad(std::string(name(p, k)), 16), text::pad(subject(p, k), 34)});
    if (s.what == Do::Forward && !p.node[n].is_loss) {
      line += text::pad(text::shape(p.node[n].local.y), 20);
      if (ranks.ways() > 1) line += text::placements(p.node[n].y, ranks.of_replica(), !p.node[n].sums_batch);
    }
    if (s.what == Do::Norm) meta::append(line, {text::grouped(p.weight_elements), " weights"});
    if (bucket) meta::append(line, {text::grouped(p.bucket[s.node].count), " weights"});
    auto const [m, even] = largest(p, s, request, ranks);
    if (m.verb != op::Verb::None) {
      std::string const whom = m.verb == op::Verb::Push ? "to the server, "
                               : m.verb == op::Verb::Send
                                   ? ""
                                   : meta::joined({"over ", m.ranks, text::group(m.over, ranks)});
      line = meta::joined({text::pad(line, p.pipeline.is_split() ? 81 : 76),
                           text::pad(std::string(op::name(m.verb)), 15), whom, "sends "});
      if (m.most_bytes > 0) {
        line += "its rows that are not zero";
      } else {
        meta::append(line, {even ? "" : "up to ", text::grouped(m.sent), " elements"});
      }
      if (m.times > 1) meta::append(line, {" in ", m.times, " rounds"});
      if (m.most_bytes > 0) {
        meta::append(line, {", at most ", text::grouped(m.bytes + m.most_bytes), " bytes"});
      } else if (m.factors) {
        line += " of factors";
      } else if (s.what == Do::Start && optimizer_in_parts(p.format, ranks)) {
        line += ", each updates a part";
      } else if (m.routed) {
        meta::append(line, {" by ", p.format.path.name});
      } else if (m.encoded) {
        meta::append(line, {" as ", p.format.encoding.name, ", ", text::grouped(m.bytes), " bytes"});
      }
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    meta::append(out, {line, "\n"});
  }
  return out;
}
/// Of plan P on a mesh of replicas and ways.
template <class P> std::string listing(Ranks mesh) {
  return listing(program<P>, P::request_of(mesh.replicas()), P::ranks_of(mesh.replicas()));
}

/// The groups of the optimizer, if it has any, in the order of their first weights.
template <class = void> void append_groups(std::string& out, Program const& p) {
  auto const size = [&](int i) { return p.groups.of[i].end - (i > 0 ? p.groups.of[i - 1].end : 0); };
  for (int i = 0; i < p.groups.count; ++i) {
    optim::RunGroup const& g = p.groups.of[i].group;
    long weights = 0;
    bool first = true;
    for (int k = 0; k < p.groups.count; ++k) {
      if (!(p.groups.of[k].group == g)) continue;
      first = first && k >= i;
      weights += size(k);
    }
    if (!first) continue;
    if (g.average > 0) {
      meta::append(out, {"running means: ", text::grouped(weights), " weights\n"});
      continue;
    }
    meta::append(out, {"rate x ", meta::short_number(double{g.rate}), ", weight decay x ",
                       meta::short_number(double{g.decay}), ": ", text::grouped(weights), " weights\n"});
  }
}

/// The traffic of the rank that sends most in a step, in total and by collective; the sum over all ranks (with a
/// server: the ranks of one replica); and the bytes that each rank allocates, by category.
template <class = void>
[[gnu::cold]] std::string summary(Program const& p, place::Request const& request, Ranks ranks) {
  Memory const m = largest_layout(p, request, ranks).memory;
  Volumes const sends = volumes(p, request, ranks);
  Traffic const& t = sends.most;
  std::string out =
      meta::joined({sends.even ? "sent per step and rank: " : "sent per step by the rank that sends most: ",
                    text::grouped(t.elements_per_step), " elements, ", text::grouped(t.bytes_per_step), " bytes, ",
                    t.messages, p.served || p.pipeline.is_split() ? " messages" : " collectives"});
  if (ranks.world() > 1) {
    meta::append(out, {"; by all ", ranks.world(), " ranks", p.served ? " of a replica: " : ": ",
                       text::grouped(sends.elements_of_all), " elements"});
  }
  out += "\n";
  for (int v = 0; v < static_cast<int>(op::Verb::Illegal); ++v) {
    if (t.elements[v] > 0)
      meta::append(out, {"  ", text::pad(std::string(op::name(static_cast<op::Verb>(v))), 16),
                         text::left(text::grouped(t.elements[v]), 14), " elements\n"});
  }
  meta::append(out, {"memory per rank", ranks.stages > 1 ? " of the stage that needs most" : "", ": ",
                     text::grouped(m.total), " bytes, in one block\n"});
  for (int c = 0; c < categories; ++c) {
    meta::append(out, {"  ", text::pad(std::string(name(static_cast<Category>(c))), 16),
                       text::left(text::grouped(m.bytes[c]), 14), " bytes\n"});
  }
  append_groups(out, p);
  return out;
}
/// Of plan P on a mesh of replicas and ways.
template <class P> std::string summary(Ranks mesh) {
  return summary(program<P>, P::request_of(mesh.replicas()), P::ranks_of(mesh.replicas()));
}

}  // namespace cleave::schedule
