// schedule/sum_over_ranks.hpp - which tensors a step sums over a group of ranks that all get the sum, and to which.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "box.hpp"
#include "group.hpp"
#include "program.hpp"
#include "transfer.hpp"

namespace cleave::schedule {

/// What a conversion is, and the value that it converts.
constexpr op::Verb verb_of(Program const& program, Step const& step) {
  ProgramNode const& n = program.node[step.node];
  return step.what == Do::Convert ? n.forward : n.backward;
}
constexpr Location converted(Program const& program, Step const& step) {
  if (step.what != Do::Convert) return {Storage::Buffer, program.gradient[step.node]};
  int const in = program.node[step.node].in0;
  bool const again = step.dx != program.value[step.node];  // on the way back
  return {Storage::Buffer, in < 0 ? program.input_value : (again ? program.again : program.value)[in]};
}

/// The shardings before and after it: of the value, or of its gradient on the way back.
struct FromTo {
  place::Sharding from, to;
};
constexpr FromTo shardings_of(ProgramNode const& n, Step const& step) {
  if (step.what == Do::Convert) return {n.x, n.y};
  return {place::gradient(n.y), place::gradient(n.x)};
}
/// What a rank holds of the value of node n.
constexpr Box box_of(Program const& program, ProgramNode const& n, place::Sharding const& s, Share const& share,
                     int rank, int accumulation) {
  Lines const lines{{n.features / n.lines, n.feature_unit}, n.last_cut(), n.lines};
  return box(s, lines, program.rows, share, rank, accumulation);
}

/// Of a sample of node n's value on a rank: the number of its first feature, and the lines in which they lie.
struct LinesHere {
  long feature = 0, lines = 1;
};
constexpr LinesHere lines_here(ProgramNode const& n, Ranks const& ranks, int rank) {
  Partition const features{n.features / n.lines, n.feature_unit};
  int const cut = place::dim_cut(n.y);
  LinesHere out{held_part(features, n.y, cut, ranks, rank).begin, n.lines};
  if (cut == place::batch + 1 || n.lines == 1) return out;
  HeldPart const rows = held_part({n.lines}, n.y, place::batch + 1, ranks, rank);
  return {rows.begin * features.extent + out.feature, rows.size};
}

/// The axes over which a step is an exchange.
constexpr AxisSet exchanged_over(Program const& program, Step const& step) {
  switch (step.what) {
    case Do::Start:
    case Do::Gather:
      return program.bucket[step.node].over;
    case Do::Sum:
    case Do::SumBack:
      return program.node[step.node].sums_along();
    case Do::Norm:
      return program.mesh.of_replica();
    case Do::Convert:
    case Do::ConvertBack:
      return program.node[step.node].converted_along();
    default:
      return {};
  }
}

/// The axes of the ranks that have parts of a norm; stages of a pipeline are no axis.
constexpr AxisSet norm_over(Program const& program, Ranks const& ranks) {
  return optimizer_in_parts(program.format, ranks) ? ranks.all() : program.mesh.of_replica();
}

/// A sum that all ranks of a group get: so many elements of the tensors at `from`, to `to`.
struct SumOverRanks {
  RankGroup group{};
  Location from, to;
  long elements = 0;     // 0: the step is no such sum
  bool one_each = true;  // each rank brings one tensor, not several branches
};
constexpr SumOverRanks sum_over_ranks(Program const& program, Step const& step, Share const& share, int rank,
                                      int accumulation) {
  ProgramNode const& n = program.node[step.node];
  RankGroup const group = group_over(exchanged_over(program, step), share.ranks, rank);
  if (step.what == Do::Sum || step.what == Do::SumBack) {
    SumOverRanks sum{group, {Storage::BatchSum}, {Storage::Statistic, step.dx}, n.local.y.size()};
    for (int i = 0; i < sum.group.size; ++i)
      sum.one_each = sum.one_each && held(share, group.over, i, program.format.ordered).branches == 1;
    return sum;
  }
  if (verb_of(program, step) != op::Verb::AllReduce) return {};
  long const elements = box_of(program, n, shardings_of(n, step).from, share, rank, accumulation).held();
  return {group, converted(program, step), {Storage::Buffer, step.dx}, elements};
}

}  // namespace cleave::schedule
