// op/start.hpp - the initial value of a weight: a function of its global index, so that it does not depend on splits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../tensor/philox.hpp"
#include "operands.hpp"

namespace cleave::op {

/// Of weights (i, o, K, K) of a transposed convolution that makes an image about K / 2 times as large: each output
/// channel interpolates between neighbours of the input channel of its number. Source: Long, Shelhamer, Darrell, 2015.
inline double bilinear_value(Shape const& window, long index) {
  int const size = window[3];
  double const half = (size + 1) / 2, middle = size % 2 == 1 ? half - 1 : half - 0.5;
  auto const weight = [&](long k) { return 1 - std::fabs(static_cast<double>(k) - middle) / half; };
  long const plane = index / window.stride(1);
  bool const same = plane / window[1] == plane % window[1];
  return same ? weight(index / size % size) * weight(index % size) : 0;
}

/// He: normal with deviation sqrt(2/fan_in) (He et al., 2015). Glorot: uniform in +-sqrt(6/(fan_in + fan_out)) (Glorot,
/// Bengio, 2010).
inline double start_value(Weight const& w, tensor::Random random, long index) {
  if (w.start == Start::Zeros) return 0;
  if (w.start == Start::Ones) return 1;
  if (w.start == Start::Bilinear) return bilinear_value(w.shape, index);
  tensor::Words const u = random.at(static_cast<std::uint64_t>(index));
  double const a = (u.a + 0.5) * 0x1p-32, b = u.b * 0x1p-32;
  if (w.start == Start::Glorot) return (2 * a - 1) * std::sqrt(6.0 / (w.fan_in + w.fan_out));
  return std::sqrt(-2 * std::log(a)) * std::cos(6.28318530717958647692 * b) * std::sqrt(2.0 / w.fan_in);
}

}  // namespace cleave::op
