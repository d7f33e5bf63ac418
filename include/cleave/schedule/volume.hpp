// schedule/volume.hpp - the traffic of each step: elements and bytes per collective, for any rank and number of replicas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "image_rows.hpp"
#include "sum_over_ranks.hpp"

namespace cleave::schedule {

/// One message of a step as one rank sees it.
struct Message {
  op::Verb verb = op::Verb::None;
  AxisSet over;  // among which ranks; none: it goes to a server, or to another stage
  int ranks = 1;
  long elements = 0;                   // of the whole tensor, in the group
  long sent = 0;                       // by this rank
  int times = 1;                       // rounds in which it is sent; elements and sent are of all
  long bytes = 0;                      // bytes sent
  long most_rows = 0, most_bytes = 0;  // for sparse rows: an upper bound of the rest
  bool encoded = false, routed = false, factors = false;
};

/// What rank `mine` sends in a sum: its part to each other rank, and the sum of its part; or everything to all. Counts
/// uncompressed elements.
constexpr void encode(Message& m, Encoding e, int mine) {
  m.encoded = true;
  if (m.ranks == 1) return;
  if (e.resums) {
    long const own = e.bytes(op::part_size(m.elements, mine, m.ranks));
    m.bytes = encoded_bytes(e, m.elements, m.ranks) - own + (m.ranks - 1) * own;
  } else {
    m.sent = (m.ranks - 1) * m.elements;
    m.bytes = (m.ranks - 1) * e.bytes(m.elements);
  }
}

/// A rank sends each other rank the rows of each branch of its sum; only the headers are known exactly.
constexpr void send_rows(Message& m, Bucket const& b, Share const& share, Format f, int mine) {
  m.encoded = true;
  long const branches = held(share, m.over, mine, f.ordered).branches, others = m.ranks - 1;
  long samples = 0;
  for (int round = 0; round < share.rounds; ++round) {
    samples += long{share.of(m.over, mine, round).size()} * share.samples / share.micro_batches;
  }
  m.sent = 0;
  m.bytes = others * branches * rows_header;
  m.most_rows = others * branches * most_rows(b, samples);
  m.most_bytes = m.most_rows * row_bytes(b, f.data);
}

/// To each shard the rows of its part; the headers, and fractions of rows cut by its bounds, are known exactly.
constexpr void push_rows(Message& m, Bucket const& b, Format f, long all) {
  m.encoded = true;
  m.sent = 0;
  for (int s = 0; s < f.shards; ++s) {
    Cut const c = cut(b, in_shard(b, s, f.shards, all));
    m.sent += c.head + c.tail;
    m.bytes += (c.head + c.tail) * f.pushed + (c.rows > 0 ? rows_header : 0);
    m.most_rows += c.rows;
  }
  m.most_bytes = m.most_rows * row_bytes(b, f.pushed);
}

/// Of a step on a rank. `request` and `ranks` are those of the ranks that sum together (Plan::request_of, ranks_of).
constexpr Message message(Step step, Program const& s, place::Request request, Ranks ranks, int rank) {
  Format const& f = s.format;
  Message m;
  using enum Do;
  if (step.what == Forward || step.what == BackwardInput || step.what == BackwardWeight || step.what == Add) return m;
  Share const share = shared(request, ranks);
  if (int const sender = sender_of(s, step); sender >= 0) {
    m.verb = op::Verb::Send;
    m.ranks = 2;
    m.times = request.rounds;
    for (int round = 0; round < request.rounds && s.pipeline.stage(sender) == ranks.stage(rank); ++round)
      m.sent += box_of(s, s.node[step.node], shardings_of(s.node[step.node], step).from, share, rank, round).held();
    m.elements = m.sent;
    m.bytes = m.sent * f.data;
    return m;
  }
  if (!runs(s, step, ranks, rank)) return m;
  int bytes_each = f.data;
  m.over = exchanged_over(s, step);
  auto const mine = [&] { return ranks.index(rank, m.over); };
  auto const sum = [&](long elements, op::Verb verb = op::Verb::AllReduce) {
    m.verb = verb;
    m.ranks = share.parts(m.over);
    m.elements = elements;
    Held const h = held(share, m.over, mine(), f.ordered);
    m.sent = op::sent(m.verb, elements, op::part_size(elements, mine(), m.ranks), m.ranks, h.branches);
  };
  if (step.what == Do::Update && f.pushed > 0) {
    Bucket const& bucket = s.bucket[step.node];
    m.verb = op::Verb::Push;
    bytes_each = f.pushed;
    m.elements = m.sent = bucket.count;
    if (bucket.row > 0 && f.pushed_rows) {
      push_rows(m, bucket, f, s.weight_elements);
    } else if (f.encoding) {
      m.encoded = true;
      m.bytes = pushed_bytes(f.encoding, bucket, f.shards, s.weight_elements);
    }
  } else if (step.what == Do::Gather && weights_in_turn(f, ranks)) {
    m.verb = op::Verb::AllGather;
    m.ranks = ranks.group_size(m.over);
    m.elements = s.bucket[step.node].count;
    m.times = request.rounds;
    m.sent = m.times * op::sent(m.verb, m.elements, op::part_size(m.elements, mine(), m.ranks), m.ranks);
    m.elements *= m.times;
  } else if (step.what == Do::Start) {
    bool const of_parts = weights_in_turn(f, ranks);
    long const count = s.bucket[step.node].count;
    sum(count, of_parts ? op::Verb::ReduceScatter : op::Verb::AllReduce);
    for (int round = 1; round < share.rounds && share.sums_rounds; ++round) {  // at the end all weights are read once
      int const branches = held(share, m.over, mine(), f.ordered, round).branches;
      m.sent += op::sent(op::Verb::ReduceScatter, count, op::part_size(count, mine(), m.ranks), m.ranks, branches);
      m.elements += count;
      ++m.times;
    }
    if (s.bucket[step.node].factors > 0) {
      m.sent = (m.ranks - 1) * long{share.of(m.over, mine(), 0).size()} * request.rows * s.bucket[step.node].factors;
      m.factors = true;
    } else if (s.bucket[step.node].row > 0) {
      send_rows(m, s.bucket[step.node], share, f, mine());
    } else if (f.path && !s.bucket[step.node].whole) {
      m.routed = true;
      m.sent = f.path.sent(m.elements, mine(), group(m.over, ranks, f.data));
    } else if (f.encoding && f.pushed == 0 && !s.bucket[step.node].whole)
      encode(m, f.encoding, mine());
  } else if (step.what == Do::Sum || step.what == Do::SumBack) {
    bytes_each = f.batch_sum;
    sum(s.node[step.node].local.y.size());
  } else if (step.what == Do::Norm && sums_parts_of_norm(s, f, ranks)) {  // each rank has those of its weights
    bytes_each = norm_word;
    m.verb = op::Verb::AllGather;
    m.over = norm_over(s, ranks);
    m.ranks = optimizer_in_parts(f, ranks) ? ranks.world() : ranks.ranks_of_replica();
    m.elements = long{m.ranks} * squares_words(f.sum);
    m.sent = op::sent(m.verb, m.elements, squares_words(f.sum), m.ranks);
  } else if (step.what == Do::Norm && ranks.ways() > 1) {  // each way has the squares of its weights
    bytes_each = norm_word;
    m.verb = op::Verb::AllGather;
    m.elements = m.ranks = ranks.ways();
    m.sent = op::sent(m.verb, m.elements, 1, m.ranks);
  } else if (step.what == Do::Convert || step.what == Do::ConvertBack) {
    ProgramNode const& n = s.node[step.node];
    m.verb = step.what == Do::Convert ? n.forward : n.backward;
    m.ranks = ranks.group_size(m.over);
    m.times = request.rounds;
    FromTo const sharding = shardings_of(n, step);
    place::Sharding whole = sharding.from;  // in the group
    for (int a = 0; a < ranks.axes; ++a) whole.on[a] = m.over.has(a) ? place::invariant : whole.on[a];
    for (int round = 0; round < request.rounds; ++round) {
      if (n.padded.height > 0) {
        ImageRows const rows(s, n, share, rank, round);
        m.elements += rows.planes * n.padded.height * rows.width;
        m.sent += rows.sent(mine(), m.ranks, step.what == Do::Convert);
        continue;
      }
      auto const held = [&](place::Sharding const& p) { return box_of(s, n, p, share, rank, round); };
      Box const before = held(sharding.from), after = held(sharding.to);
      Box const all = held(whole);
      long const elements = m.verb == op::Verb::AllReduce ? all.held() : all.size();
      long const part = m.verb == op::Verb::AllReduce   ? op::part_size(elements, mine(), m.ranks)
                        : m.verb == op::Verb::AllGather ? before.size()
                                                        : after.size();
      m.elements += elements;
      m.sent += m.verb == op::Verb::AllToAll ? before.size() - shared_by(before, after).in_a.size()
                                             : op::sent(m.verb, elements, part, m.ranks);
    }
  }
  if (!m.encoded) m.bytes = m.sent * bytes_each;
  return m;
}

/// Totals over one step, or over an evaluation pass, of what one rank sends. `elements_per_step` is usually called the
/// communication volume.
struct Traffic {
  long elements_per_step = 0, bytes_per_step = 0;
  long elements[static_cast<int>(op::Verb::Illegal)]{}, bytes[static_cast<int>(op::Verb::Illegal)]{};  // by verb
  int messages = 0;
  long most_bytes_per_step = 0;  // the rest depends on the data: sparse rows
  constexpr long operator[](op::Verb v) const { return elements[static_cast<int>(v)]; }
};

constexpr Traffic traffic(Program const& s, place::Request request, Ranks ranks, int rank, bool evaluation = false) {
  Traffic t;
  for (int k = 0; k < (evaluation ? s.forward_steps : s.steps); ++k) {
    if (evaluation && s.step[k].what == Do::Sum) continue;  // running statistics replace it
    Message const m = message(s.step[k], s, request, ranks, rank);
    if (m.bytes == 0) continue;
    t.elements_per_step += m.sent;
    t.bytes_per_step += m.bytes;
    t.most_bytes_per_step += m.bytes + m.most_bytes;
    t.elements[static_cast<int>(m.verb)] += m.sent;
    t.bytes[static_cast<int>(m.verb)] += m.bytes;
    t.messages += m.times;
  }
  return t;
}

/// What a group of summing ranks sends in one step: the rank that sends most, and all ranks. Under `Ordered` ranks
/// differ if their micro-batches are not whole branches of the sum (slices.hpp).
struct Volumes {
  Traffic most;
  long elements_of_all = 0, bytes_of_all = 0;
  bool even = true;  // all send the same number of bytes
};
constexpr Volumes volumes(Program const& s, place::Request request, Ranks ranks) {
  Volumes v;
  for (int r = 0; r < ranks.world(); ++r) {
    Traffic const t = traffic(s, request, ranks, r);
    v.elements_of_all += t.elements_per_step;
    v.bytes_of_all += t.bytes_per_step;
    if (r > 0 && t.bytes_per_step != v.most.bytes_per_step) v.even = false;
    if (r == 0 || t.bytes_per_step > v.most.bytes_per_step) v.most = t;
  }
  return v;
}

}  // namespace cleave::schedule
