// backend/host/gradients/norm.hpp - the sum of squares that gradients are clipped by.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

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

}  // namespace cleave::backend::host
