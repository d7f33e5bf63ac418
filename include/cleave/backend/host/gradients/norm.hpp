// backend/host/gradients/norm.hpp - the sum of squares that gradients are clipped by.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/program.hpp"

namespace cleave::backend::host {

/// In f64, in one order: eight interleaved sums, then their sum.
template <class G> double squares(G const* g, long n) {
  constexpr long apart = 8;
  double sum[apart] = {};
  auto const add = [&](long i, long k) {
    double const v = static_cast<double>(g[i + k]);
    sum[k] += v * v;
  };
  long const whole = n / apart * apart;
  for (long i = 0; i < whole; i += apart) {
    for (long k = 0; k < apart; ++k) add(i, k);
  }
  for (long k = 0; k < n - whole; ++k) add(whole, k);
  double all = 0;
  for (double s : sum) all += s;
  return all;
}
/// Of the gradients g of all ways, one after the other: the bits of ways that each have their own.
template <class G> double squares_of_ways(schedule::Program const& program, G const* g) {
  schedule::Ranks const ranks = program.mesh.with_replicas(1);
  double all = 0;
  for (int way = 0; way < ranks.ways(); ++way, g += program.weight_elements) {
    double own = 0;
    for (int i = 0; i < program.norms; ++i) {
      schedule::OfNorm const& n = program.norm[i];
      if (ranks.index(way, n.alike) == 0) own += squares(g + n.offset, n.count);
    }
    all += own;
  }
  return all;
}

}  // namespace cleave::backend::host
