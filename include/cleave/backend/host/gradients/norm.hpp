// backend/host/gradients/norm.hpp - the sum of squares that gradients are clipped by: of a tensor, and over the ways of a model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/norm.hpp"
#include "../communication/member.hpp"

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

/// Every way reads the sums of all and adds them in their order: the same bits. `slots` are two words of each arena,
/// used in turn: a rank that writes norm k has read all of norm k - 1, so norm k - 2 has been read by all.
inline double sum_over_ways(Member& m, int step, long slots, long norm, double own) {
  long const at = slots + norm % 2 * schedule::norm_word;
  *m.at<double>(m.rank, at) = own;
  m.reach(step, 1);
  m.await(Axis::Model, step, 1);
  double sum = 0;
  for (int w = 0; w < m.size(Axis::Model); ++w) {
    int const peer = m.peer(Axis::Model, w);
    m.read_from(peer, 1, schedule::norm_word);
    m.fetch<double>(peer, at, 0, 1);
    sum += *m.at<double const>(peer, at);
  }
  return sum;
}

}  // namespace cleave::backend::host
