// schedule/listing.hpp - a plan as text: one line a step, its traffic and its memory. Stable output, suited for diffs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "volume.hpp"

namespace cleave::schedule {

namespace text {
inline std::string pad(std::string const& s, std::size_t width) {
  return s.size() < width ? s + std::string(width - s.size(), ' ') : s;
}
inline std::string left(std::string const& s, std::size_t width) {
  return s.size() < width ? std::string(width - s.size(), ' ') + s : s;
}
inline std::string grouped(long n) {
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
  for (int d = 0; d < s.dims; ++d) out += ", " + std::to_string(s[d]);
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
      return "shard<" + std::to_string(p.dim - samples) + ">";
    default:
      return "invariant";
  }
}
}  // namespace text

/// The subject of a line: "0.product+bias+relu", or the placements of a conversion. In backward_input, "2.product+relu"
/// means that the gradient also passes through the relu before the product.
template <class P> std::string subject(int line) {
  Step const s = P::schedule.step[line];
  bool const bucket = s.what == Do::Start || s.what == Do::Update;
  int const n = bucket ? P::schedule.bucket[s.node].node : s.node;
  if (s.what == Do::Norm) return "gradients";
  if (n < 0) return {};
  place::Node const& node = P::placed.node[n];
  if (node.op < 0) {
    bool const forth = s.what == Do::Convert;
    place::Placement const x = node.x.on[place::model_axis], y = node.y.on[place::model_axis];
    return forth ? text::placement(x) + " -> " + text::placement(y)
                 : text::placement(place::gradient(y)) + " -> " + text::placement(place::gradient(x));
  }
  place::Signature const& op = P::signatures.op[node.op];
  std::string out = std::to_string(op.leaf) + "." + std::string(op.name);
  if (s.what == Do::Forward) {
    int const bias = P::schedule.bias[n], map = P::schedule.map[n];
    if (bias >= 0) out += "+bias";
    if (map >= 0) out += "+" + std::string(P::signatures.op[P::placed.node[map].op].name);
  }
  bool const back = s.what == Do::BackwardInput;
  int const tail = back || s.what == Do::Forward ? P::schedule.tail(n, back) : 0;
  for (int i = 0; i < tail; ++i) {
    int const m = P::schedule.behind(n, back, i);
    out += "+" + std::string(m < 0 ? "add" : P::signatures.op[P::placed.node[m].op].name);
  }
  return out;
}

/// The message of a step on the rank that sends most; `even`: all ranks send the same amount.
struct Largest {
  Message message;
  bool even = true;
};
template <class P> Largest largest(Step s, place::Request request, Ranks ranks) {
  auto const size = [](Message const& m) { return m.bytes + m.most_bytes; };
  Largest l{message(s, P::schedule, P::placed, request, P::format, ranks, 0)};
  for (int r = 1; r < ranks.world() && l.message.verb != op::Verb::None; ++r) {
    Message const m = message(s, P::schedule, P::placed, request, P::format, ranks, r);
    if (size(m) != size(l.message)) l.even = false;
    if (size(m) > size(l.message)) l.message = m;
  }
  return l;
}

/// One line per step: number, kind, operation, output shape, its placement on the model axis, and the traffic of each
/// rank; "up to" is that of the rank that sends most.
template <class P> std::string listing(Ranks mesh) {
  Ranks const ranks = P::ranks_of(mesh.data);
  place::Request const request = P::request_of(mesh.data);
  std::string out;
  if (P::request.rounds > 1) {
    out = "in each of " + std::to_string(P::request.rounds) + " rounds, but " +
          (P::request.clips ? "start, norm and update" : "start and update") + " in the last alone:\n";
  }
  for (int k = 0; k < P::schedule.steps; ++k) {
    Step const s = P::schedule.step[k];
    bool const bucket = s.what == Do::Start || s.what == Do::Update;
    int const n = bucket ? P::schedule.bucket[s.node].node : s.node;
    std::string line = text::left(std::to_string(k), 4) + "  " + text::pad(std::string(name(s.what)), 16) +
                       text::pad(subject<P>(k), 34);
    if (s.what == Do::Forward && !P::signatures.op[P::placed.node[n].op].is_loss) {
      bool const samples = !P::signatures.op[P::placed.node[n].op].sums_batch;
      line += text::pad(text::shape(P::placed.node[n].local.y), 20) +
              (ranks.model > 1 ? text::placement(P::placed.node[n].y.on[place::model_axis], samples) : "");
    }
    if (s.what == Do::Norm) line += text::grouped(P::schedule.weight_elements) + " weights";
    if (bucket) line += text::grouped(P::schedule.bucket[s.node].count) + " weights";
    auto const [m, even] = largest<P>(s, request, ranks);
    if (m.verb != op::Verb::None) {
      std::string const whom = m.verb == op::Verb::Push ? "to the server, "
                                                        : "over " + std::to_string(m.ranks) +
                                                              (m.world   ? " ranks, "
                                                               : m.model ? " ways, "
                                                                         : " replicas, ");
      line = text::pad(line, 76) + text::pad(std::string(op::name(m.verb)), 15) + whom + "sends " +
             (m.most_bytes > 0 ? "its rows that are not zero"
                               : (even ? "" : "up to ") + text::grouped(m.sent) + " elements") +
             (m.times > 1 ? " in " + std::to_string(m.times) + " rounds" : "");
      if (m.most_bytes > 0) {
        line += ", at most " + text::grouped(m.bytes + m.most_bytes) + " bytes";
      } else if (m.factors) {
        line += " of factors";
      } else if (m.routed) {
        line += " by " + std::string(P::format.path.name);
      } else if (m.encoded) {
        line += " as " + std::string(P::format.encoding.name) + ", " + text::grouped(m.bytes) + " bytes";
      }
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

/// The traffic of the rank that sends most in a step, in total and by collective; the sum over all ranks (with a
/// server: the ranks of one replica); and the bytes that each rank allocates, by category.
template <class P> std::string summary(Ranks mesh) {
  Ranks const ranks = P::ranks_of(mesh.data);
  place::Request const request = P::request_of(mesh.data);
  Volumes const sends = volumes(P::schedule, P::placed, request, P::format, ranks);
  Traffic const& t = sends.most;
  Memory const m = layout(P::schedule, request, P::format, ranks).memory;
  std::string out = (sends.even ? "sent per step and rank: " : "sent per step by the rank that sends most: ") +
                    text::grouped(t.elements_per_step) + " elements, " + text::grouped(t.bytes_per_step) + " bytes, " +
                    std::to_string(t.messages) + (P::served ? " messages" : " collectives");
  if (ranks.world() > 1) {
    out += "; by all " + std::to_string(ranks.world()) + " ranks" + (P::served ? " of a replica: " : ": ") +
           text::grouped(sends.elements_of_all) + " elements";
  }
  out += "\n";
  for (int v = 0; v < static_cast<int>(op::Verb::Illegal); ++v) {
    if (t.elements[v] > 0)
      out += "  " + text::pad(std::string(op::name(static_cast<op::Verb>(v))), 16) +
             text::left(text::grouped(t.elements[v]), 14) + " elements\n";
  }
  out += "memory per rank: " + text::grouped(m.total) + " bytes, in one block\n";
  for (int c = 0; c < categories; ++c) {
    out += "  " + text::pad(std::string(name(static_cast<Category>(c))), 16) +
           text::left(text::grouped(m.bytes[c]), 14) + " bytes\n";
  }
  return out;
}

}  // namespace cleave::schedule
