// backend/gpu/communication/norm.hpp - the norm over all gradients, and their factor from it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../kernels/clip.hpp"
#include "../kernels/rows.hpp"
#include "gradients.hpp"

namespace cleave::backend::gpu {

/// The squares that a rank counts: by pieces, then their sum.
template <class T, class Machine, class Link>
void put_squares(DeviceGradients<T, Machine, Link>& gradients, One<T, Machine>& one) {
  auto& ranks = gradients.ranks();
  double *const words = gradients.squares(one), *to = words + schedule::norm_pieces;
  for (int i = 0; i < ranks.program.norms; ++i) {
    schedule::OfNorm const& n = ranks.program.norm[i];
    if (ranks.share.ranks.index(one.m.rank, n.alike) != 0) continue;
    schedule::Bucket const& bucket = gradients.bucket(n.bucket);
    int const pieces = blocks_for(n.count, schedule::norm_piece);
    gradients.with_sources(
        gradients.alone(n.bucket) ? gradients.own_sum(one, n.bucket) : gradients.found(one, n.bucket),
        [&](auto const& g) {
          using K = Squares<typename std::remove_cvref_t<decltype(g)>::format>;
          one.compute.template launch<K>(pieces, {to, n.offset - bucket.offset, n.count, bucket.count, g});
        });
    to += pieces;
  }
  one.compute.template launch<AddUp<double>>(
      1, {words, words + schedule::norm_pieces, to - words - schedule::norm_pieces});
}

/// Before any update: when all sums are complete, computes the scale of the gradients.
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
      if (!gradients.alone(b)) gradients.find(one, b);
    }
  }
  for (One& one : ranks.all) {
    if (one.here) put_squares(gradients, one);
  }
  RankLists const& lists = gradients.exchanges().of(step);
  if (lists.meets) ranks.meet(exchanged_over(program, program.step[step]));
  for (int r = 0; r < lists.rounds; ++r) gradients.exchanges().run(lists, r, &One::compute);
  for (One& one : ranks.all) {
    if (one.here && lists.rounds == 0)
      ranks.functions.gradient_scale(one.compute,
                                     {gradients.scale(one), ranks.loss_scale(one), 1, {gradients.squares(one)}});
  }
  ranks.close_all(&One::compute);
}

}  // namespace cleave::backend::gpu
