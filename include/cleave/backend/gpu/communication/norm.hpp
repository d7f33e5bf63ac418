// backend/gpu/communication/norm.hpp - the norm over all gradients, and their factor from it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "../kernels/clip.hpp"
#include "gradients.hpp"

namespace cleave::backend::gpu {

/// The squares that a rank counts: by pieces, then their sum.
template <class T, class Machine, class Link>
void put_squares(DeviceGradients<T, Machine, Link>& gradients, One<T, Machine>& one) {
  using Add = AddDigits<tensor::accumulate_t<T>>;
  auto& ranks = gradients.ranks();
  schedule::Program const& program = ranks.program;
  double* const words = gradients.squares(one);
  double* const first = words + schedule::norm_pieces_at(program, program.format, ranks.share.ranks);
  long n = 0;
  for (int i = 0; i < program.norms; ++i) {
    schedule::OfNorm const& of = program.norm[i];
    if (!schedule::counts(program, of, ranks.share.ranks, one.m.rank)) continue;
    auto const here = gradients.summed_here(one, of.bucket);
    long const offset = of.offset - gradients.bucket(of.bucket).offset, begin = std::max(offset, here.begin),
               end = std::min(offset + of.count, here.begin + here.count);
    if (begin >= end) continue;
    int const pieces = blocks_for(end - begin, schedule::norm_piece);
    DeviceGradients<T, Machine, Link>::with_sources(here.in, [&](auto const& g) {
      using K = Squares<typename std::remove_cvref_t<decltype(g)>::format>;
      one.compute.template launch<K>(pieces,
                                     {first + n * Add::Digits::words, begin - here.begin, end - begin, here.count, g});
    });
    n += pieces;
  }
  int const blocks = Add::blocks(n);
  if (blocks > 1) one.compute.template launch<Add>(blocks, {first, n, nullptr, false});
  bool const of_parts = ranks.norm_digits() > 0;
  double* const to = of_parts ? words + schedule::norm_digits : words;
  one.compute.template launch<Add>(1, {first, blocks > 1 ? blocks : n, to, !of_parts});
}
/// From the sums of all ways, which this rank has.
template <class T, class Machine, class Link>
void put_scale(DeviceGradients<T, Machine, Link>& gradients, One<T, Machine>& one) {
  auto& ranks = gradients.ranks();
  int const digits = ranks.norm_digits(), ways = digits > 0 ? ranks.share.ranks.ways() : 1;
  if (ways > most_sources) throw Error(too_many("ways", most_sources));
  WaySquares<tensor::accumulate_t<T>> all{gradients.scale(one), ranks.loss_scale(one), ways, digits > 0, {}};
  double const* const first =
      digits > 0 ? gradients.squares(one) + schedule::norm_digits + 2 * digits : gradients.squares(one);
  for (int w = 0; w < ways; ++w) all.squares[w] = first + w * digits;
  ranks.functions.gradient_scale(one.compute, all);
}

/// Before any update: when all sums are complete, computes the scale of the gradients. What a rank has of the norm is
/// in one place in every step: a step is one graph, and ends after all that peers read in it.
template <class T, class Machine, class Link>
void put_norm(DeviceGradients<T, Machine, Link>& gradients, int step, int round) {
  using One = gpu::One<T, Machine>;
  auto& ranks = gradients.ranks();
  schedule::Program const& program = ranks.program;
  for (int b = 0; b < program.buckets; ++b) {
    schedule::AxisSet const over = program.bucket[b].over;
    bool met = gradients.alone(b);
    for (int before = 0; before < b; ++before) met = met || program.bucket[before].over == over;
    if (!met) ranks.meet(over, &One::sums, &One::compute);
  }
  ranks.open_all(&One::compute, host::Did::Line, step, round);
  for (int b = program.buckets - 1; b >= 0; --b) {
    for (One& one : ranks.all) {
      if (!gradients.alone(b) && !ranks.parts().in_parts()) gradients.find(one, b);
    }
  }
  for (One& one : ranks.all) {
    if (one.here) put_squares(gradients, one);
  }
  RankLists const& lists = gradients.exchanges().of(step);
  if (lists.meets) ranks.meet(norm_over(program, ranks.share.ranks));
  for (int r = 0; r < lists.rounds; ++r) gradients.exchanges().run(lists, r, &One::compute);
  for (One& one : ranks.all) {
    if (one.here && (lists.rounds == 0 || ranks.norm_digits() > 0)) put_scale(gradients, one);
  }
  ranks.close_all(&One::compute);
}

}  // namespace cleave::backend::gpu
