// schedule/sum_over_ranks.hpp - which tensors a step sums over a group of ranks that all get the sum, and to which.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

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
  int const in = program.node[step.node].in0, value = in < 0 ? program.input_value : program.value[in];
  return {Storage::Buffer, step.what == Do::Convert ? value : program.gradient[step.node]};
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
  if (step.what == Do::Sum || step.what == Do::SumBack) {
    SumOverRanks sum{group_over(n.batch_axes, share.ranks, rank),
                     {Storage::BatchSum},
                     {Storage::Statistic, step.dx},
                     n.local.y.size()};
    for (int i = 0; i < sum.group.size; ++i)
      sum.one_each = sum.one_each && held(share, n.batch_axes, i, program.format.ordered).branches == 1;
    return sum;
  }
  if (verb_of(program, step) != op::Verb::AllReduce) return {};
  return {group_over(over_model, share.ranks, rank),
          converted(program, step),
          {Storage::Buffer, step.dx},
          long{share.own(rank / share.ranks.model, accumulation).size()} * program.rows * n.features};
}

}  // namespace cleave::schedule
