// schedule/exchange.hpp - every exchange of a program, as one rank sees it: its rounds, what it writes and reads in each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "box.hpp"
#include "group.hpp"
#include "image_rows.hpp"
#include "sum_over_ranks.hpp"

namespace cleave::schedule {

/// Emits rounds, writes and sources; what is empty is left out.
template <class V> struct ExchangeEmitter {
  V& v;
  int rank = 0;

  constexpr void one(Opcode what, Location to, Strided at, int from, Location in, Strided there) {
    if (at.size() == 0) return;
    v.write(Write{what, to, at});
    v.source(Source{from, in, there});
  }
  constexpr void one(Opcode what, Location to, Strided at, int from, Location in) { one(what, to, at, from, in, at); }

  static constexpr Strided run(long begin, long end) { return {begin, 1, end - begin, 0}; }
  static constexpr Strided part(long elements, int i, int n) {
    return run(op::part_begin(elements, i, n), op::part_begin(elements, i + 1, n));
  }
};

/// The sum of a bucket's gradients over a group, and its update: of a Start step, to the end of the Update.
template <class V> struct BucketExchange : ExchangeEmitter<V> {
  using ExchangeEmitter<V>::v, ExchangeEmitter<V>::rank, ExchangeEmitter<V>::one, ExchangeEmitter<V>::run,
      ExchangeEmitter<V>::part;
  Program const& program;
  Bucket const& bucket;
  Share const& share;
  RankGroup group;
  int accumulation;

  constexpr BucketExchange(Program const& p, int b, Share const& s, int mine, int round, V& visitor)
      : ExchangeEmitter<V>{visitor, mine},
        program(p),
        bucket(p.bucket[b]),
        share(s),
        group(group_over(p.bucket[b].over, s.ranks, mine)),
        accumulation(round) {}

  constexpr void visit() {
    if (group.size == 1) return;
    if (bucket.row > 0) return rows();
    if (bucket.factors > 0) return factors();
    if (program.format.encoding && !bucket.whole && !program.served) return encoded();
    if (program.format.path && !bucket.whole) return routed();
    direct();
  }

  /// The weights, of which each rank of the group has a part.
  constexpr void gather() {
    if (!weights_in_turn(program.format, share.ranks)) return;
    v.round();
    for (int i = 0; i < group.size; ++i) {
      Strided const of = part(bucket.count, i, group.size);
      one(Opcode::Copy, {Storage::Copies}, of, group.rank(i), {Storage::OwnWeights}, run(0, of.size()));
    }
  }

 private:
  static constexpr Location gradient{Storage::Gradient};
  constexpr bool narrow() const { return program.format.data < program.format.sum; }
  constexpr Location sent(int branch = 0) const { return {narrow() ? Storage::Wire : Storage::Gradient, branch}; }
  constexpr Strided all() const { return run(0, bucket.count); }
  constexpr int own_branches() const {
    return held(share, bucket.over, group.mine, program.format.ordered, accumulation).branches;
  }
  template <class Visit> constexpr void each_branch(Visit visit) const {
    schedule::each_branch(share, bucket.over, program.format.ordered, visit);
  }
  /// Branches in the format in which they are sent.
  constexpr void pack() {
    if (!narrow()) return;
    v.round();
    for (int b = 0; b < own_branches(); ++b) one(Opcode::Copy, sent(b), all(), rank, {Storage::Gradient, b});
  }
  /// From the whole sum.
  constexpr void apply(Location sum) {
    v.round();
    one(Opcode::Apply, {Storage::Weights}, all(), rank, sum);
  }

  /// A rank sums its part of all branches, and reads the other parts from the ranks that summed these.
  constexpr void direct() {
    pack();
    v.round();
    Strided const own = part(bucket.count, group.mine, group.size);
    if (keeps_gradients(program.format, share.ranks, program.waits_for_norm, program.rounds)) return keep(own);
    if (own.size() > 0) {
      v.write(Write{Opcode::Reduce, sent(), own});
      each_branch([&](int i, int branch, int merges) { v.source(Source{group.rank(i), sent(branch), own, merges}); });
    }
    if (optimizer_in_parts(program.format, share.ranks)) return update_own(own, sent());
    v.round();
    for (int i = 0; i < group.size; ++i) {
      Strided const of = part(bucket.count, i, group.size);
      if (program.waits_for_norm && i != group.mine) one(Opcode::Copy, sent(), of, group.rank(i), sent());
      if (!program.waits_for_norm) one(Opcode::Apply, {Storage::Weights}, of, group.rank(i), sent());
    }
    if (program.waits_for_norm) apply(sent());
  }
  /// It adds its part to what it has kept of the rounds before, if there are any, and in the last it updates by that.
  constexpr void keep(Strided own) {
    Location const kept{Storage::OwnGradient};
    if (own.size() > 0) {
      each_kept(
          share, bucket.over, program.format.ordered, accumulation,
          [&](int which) {
            v.write(Write{Opcode::Reduce, {kept.in, which}, own});
          },
          [&](int which, int merges) {
            v.source(Source{rank, {kept.in, which}, own, merges});
          },
          [&](int i, int branch, int merges) {
            v.source(Source{group.rank(i), sent(branch), own, merges});
          });
    }
    if (accumulation + 1 == share.rounds) update_own(own, kept);
  }
  /// Each rank has the moments of its part: it updates these weights by its part of the sum, and reads the others, if
  /// it needs them now.
  constexpr void update_own(Strided own, Location sum) {
    if (weights_in_turn(program.format, share.ranks)) {
      v.round();
      return one(Opcode::Apply, {Storage::OwnWeights}, run(0, own.size()), rank, sum, own);
    }
    Location const weights{narrow() ? Storage::Copies : Storage::Weights};
    v.round();
    one(Opcode::Apply, weights, own, rank, sum);
    v.round();
    for (int i = 0; i < group.size; ++i) {
      if (i != group.mine) one(Opcode::Copy, weights, part(bucket.count, i, group.size), group.rank(i), weights);
    }
  }
  /// Sums stay in the format of sums; what is sent, and what is copied, has that of the data.
  constexpr void routed() {
    pack();
    send::Group const g = schedule::group(bucket.over, share.ranks, program.format.data);
    for (int k = 0; k < program.format.path.rounds(bucket.count, g); ++k) {
      v.round();
      send::Move const m = program.format.path.move(bucket.count, group.mine, g, k);
      if (!m.any()) continue;
      Strided const at = run(m.begin, m.end);
      if (!m.add) {
        one(Opcode::Copy, sent(), at, group.rank(m.peer), sent());
        continue;
      }
      one(Opcode::Reduce, gradient, at, rank, gradient);
      v.source(Source{group.rank(m.peer), sent(), at, 1});
      if (narrow()) one(Opcode::Copy, sent(), at, rank, gradient);
    }
    apply(sent());
  }
  /// Each rank sums the messages of its part, and encodes the sum; or, where sums are longer than messages, all do.
  constexpr void encoded() {
    Encoding const& e = program.format.encoding;
    int const pieces = schedule::pieces(e, group.size), own = e.resums ? group.mine : 0;
    auto const piece = [&](int p) { return part(bucket.count, p, pieces); };
    v.round();
    for (int p = 0; p < pieces; ++p) encode(p, piece(p), {Storage::Residual, 0});
    v.round();
    if (piece(own).size() > 0) {
      v.write(Write{Opcode::Decode, gradient, piece(own)});
      for (int i = 0; i < group.size; ++i) v.source(Source{group.rank(i), {Storage::Message, own}, piece(own), i > 0});
      if (e.resums) encode(own, piece(own), {Storage::Residual, 1});
    }
    if (e.resums) {
      v.round();
      for (int p = 0; p < pieces; ++p) {
        one(Opcode::Decode, gradient, piece(p), group.rank(p), {Storage::Message, p});
        if (!program.waits_for_norm) one(Opcode::Apply, {Storage::Weights}, piece(p), rank, gradient);
      }
    }
    if (!e.resums || program.waits_for_norm) apply(gradient);
  }
  constexpr void encode(int p, Strided at, Location residual) {
    one(Opcode::Encode, {Storage::Message, p}, at, rank, gradient);
    if (at.size() > 0 && program.format.encoding.feedback) v.source(Source{rank, residual, at, 1});
  }
  /// All ranks read the nonzero rows of all branches.
  constexpr void rows() {
    v.round();
    for (int b = 0; b < own_branches(); ++b)
      one(Opcode::Encode, {Storage::Rows, b}, all(), rank, {Storage::Gradient, b});
    v.round();
    v.write(Write{Opcode::Reduce, gradient, all()});
    each_branch([&](int i, int branch, int merges) {
      v.source(Source{group.rank(i), {Storage::Rows, branch}, all(), merges});
    });
    apply(gradient);
  }
  /// All ranks read the inputs and the output gradients of all samples: | x (samples, K) | dy (samples, N) |.
  constexpr void factors() {
    ProgramNode const& n = program.node[bucket.node];
    long const x = n.local.x.size(), dy = n.local.y.size();
    auto const samples = [&](int i) { return long{share.of(bucket.over, i, 0).size()} * program.rows; };
    long const own = samples(group.mine);
    Location const message{Storage::Factors},
        in{Storage::Buffer, n.in0 < 0 ? program.input_value : program.again[n.in0]},
        out{Storage::Buffer, program.gradient[bucket.node]};
    v.round();
    one(Opcode::Copy, message, run(0, own * x), rank, in);
    one(Opcode::Copy, message, run(own * x, own * (x + dy)), rank, out, run(0, own * dy));
    v.round();
    v.write(Write{Opcode::Call, gradient, all()});
    TreeSum tree{share.micro_batches};
    for (int i = 0; i < group.size; ++i) {
      Range const those = share.of(bucket.over, i, 0);
      for (int s = 0; s < those.size(); ++s) {
        long const row = long{s} * program.rows, behind = samples(i) * x;
        int merges = 0;
        tree.push({those.begin + s, 1}, [&](int, int) { ++merges; });
        if (!program.format.ordered) merges = (s > 0) + (i > 0 && s + 1 == those.size());
        v.source(Source{group.rank(i), message, run(row * x, (row + program.rows) * x)});
        v.source(Source{group.rank(i), message, run(behind + row * dy, behind + (row + program.rows) * dy), merges});
      }
    }
    apply(gradient);
  }
};

/// Values over the ranks of a replica, and what the model sums over the batch.
template <class V> struct ValueExchange : ExchangeEmitter<V> {
  using ExchangeEmitter<V>::v, ExchangeEmitter<V>::rank, ExchangeEmitter<V>::one, ExchangeEmitter<V>::run,
      ExchangeEmitter<V>::part;
  Program const& program;
  Share const& share;
  int accumulation = 0;

  /// A rank sums its part from all, and reads the other parts of the result. each_source(part).
  template <class EachSource> constexpr void all_reduce(SumOverRanks const& sum, EachSource each_source) {
    RankGroup const g = sum.group;
    v.round();
    Strided const own = part(sum.elements, g.mine, g.size);
    if (own.size() > 0) {
      v.write(Write{Opcode::Reduce, sum.to, own});
      each_source(own);
    }
    v.round();
    for (int i = 0; i < g.size; ++i) {
      if (i != g.mine) one(Opcode::Copy, sum.to, part(sum.elements, i, g.size), g.rank(i), sum.to);
    }
  }
  constexpr void sum(Step const& step) {
    SumOverRanks const sum = sum_over_ranks(program, step, share, rank, accumulation);
    AxisSet const over = exchanged_over(program, step);
    all_reduce(sum, [&](Strided own) {
      each_branch(share, over, program.format.ordered, [&](int i, int branch, int merges) {
        v.source(Source{sum.group.rank(i), {Storage::BatchSum, branch}, own, merges});
      });
    });
  }
  constexpr void norm() {
    if (sums_parts_of_norm(program, program.format, share.ranks)) return norm_of_parts();
    RankGroup const g = group_over(program.mesh.of_replica(), share.ranks, rank);
    if (g.size == 1) return;
    v.round();
    v.write(Write{Opcode::Reduce, {Storage::Norm}, run(0, 1)});
    for (int i = 0; i < g.size; ++i) v.source(Source{g.rank(i), {Storage::Squares}, run(0, 1), i > 0});
  }

  /// The digits of each way's sum, of all ranks that have parts of its gradients.
  constexpr void norm_of_parts() {
    RankGroup const ways = group_over(program.mesh.of_replica(), share.ranks, rank);
    int const words = squares_words(program.format.sum);
    bool const of_all = optimizer_in_parts(program.format, share.ranks);
    RankGroup const replicas = group_over(place::over_data, share.ranks, rank);
    v.round();
    for (int way = 0; way < ways.size; ++way) {
      v.write(Write{Opcode::Reduce, {Storage::Norm}, run(long{way} * words, long{way + 1} * words)});
      bool first = true;
      for (int r = 0; r < replicas.size; ++r) {
        if (!of_all && r != replicas.mine) continue;
        int const at = ways.rank(way) - rank + replicas.rank(r);
        for (int stage = 0; stage < share.ranks.stages; ++stage) {
          v.source(Source{share.ranks.at_stage(at, stage), {Storage::Squares}, run(0, words), !first});
          first = false;
        }
      }
    }
  }

  /// visit(way, merges): partial sums one after the other, or, in a plan with Blocks, as the branches of a tree.
  template <class Visit> constexpr void each_way(int ways, Visit visit) const {
    each_leaf(ways, [&](int w, int merges) { visit(w, program.blocks > 1 ? merges : int{w > 0}); });
  }

  /// A rank needs a box of the result: it copies what others hold of it, or sums it over all. What another stage has is
  /// in the same boxes there. Behind a smaller part than others have it writes zeros.
  constexpr void convert(Step const& step) {
    ProgramNode const& n = program.node[step.node];
    FromTo const sharding = shardings_of(n, step);
    op::Verb const verb = verb_of(program, step);
    Location const from = converted(program, step), to{Storage::Buffer, step.dx};
    RankGroup const g = group_over(exchanged_over(program, step), share.ranks, rank);
    if (n.padded.height > 0) {
      ImageRows const rows(program, n, share, rank, accumulation);
      return step.what == Do::Convert ? read_rows(rows, g, from, to, v) : sum_rows(rows, g, from, to, v);
    }
    if (verb == op::Verb::Send) {
      int const peer = share.ranks.at_stage(rank, program.pipeline.stage(sender_of(program, step)));
      v.round();
      return one(Opcode::Copy, to, run(0, box_of(program, n, sharding.from, share, rank, accumulation).held()), peer,
                 from);
    }
    auto const has = [&](int i) { return box_of(program, n, sharding.from, share, g.rank(i), accumulation); };
    Box const need = box_of(program, n, sharding.to, share, rank, accumulation);
    if (verb == op::Verb::AllReduce) {
      return all_reduce(sum_over_ranks(program, step, share, rank, accumulation), [&](Strided own) {
        each_way(g.size, [&](int w, int merges) { v.source(Source{g.rank(w), from, own, merges}); });
      });
    }
    v.round();
    if (zeros(need).size() > 0) v.write(Write{Opcode::Clear, to, zeros(need)});
    if (verb == op::Verb::ReduceScatter) {
      Strided const at = shared_by(need, has(g.mine)).in_a;
      if (at.size() == 0) return;
      v.write(Write{Opcode::Reduce, to, at});
      return each_way(g.size, [&](int w, int merges) {
        v.source(Source{g.rank(w), from, shared_by(need, has(w)).in_b, merges});
      });
    }
    for (int w = 0; w < g.size; ++w) {
      if (verb == op::Verb::Slice && w != g.mine) continue;
      auto const [at, there] = shared_by(need, has(w));
      one(Opcode::Copy, to, at, g.rank(w), from, there);
    }
  }
};

/// Calls v.round(), v.write(Write) and, after each, v.source(Source) for what `rank` does in a step: conversions and
/// sums of one accumulation round; for Start, from the rank's gradients, of all rounds or, where each is summed, of
/// this one, to its new weights after the last, or to what it pushes to a server. Of a group of one rank there are only
/// the branches of its sums over the batch.
template <class V>
constexpr void exchange(Program const& program, int step, Share const& share, int rank, int accumulation, V& v) {
  Step const& s = program.step[step];
  if (!runs(program, s, share.ranks, rank)) return;
  ValueExchange<V> values{{v, rank}, program, share, accumulation};
  switch (s.what) {
    case Do::Start:
      return BucketExchange<V>(program, s.node, share, rank, accumulation, v).visit();
    case Do::Gather:
      return BucketExchange<V>(program, s.node, share, rank, accumulation, v).gather();
    case Do::Sum:
    case Do::SumBack:
      return values.sum(s);
    case Do::Norm:
      return values.norm();
    case Do::Convert:
    case Do::ConvertBack:
      return values.convert(s);
    default:
      return;
  }
}

}  // namespace cleave::schedule
