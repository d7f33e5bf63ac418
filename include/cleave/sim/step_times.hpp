// sim/step_times.hpp - how long the gradients of a device take: a distribution with stragglers, by counter and seed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>

#include "../tensor/philox.hpp"

namespace cleave::sim {

/// The random words of one gradient: the same whatever other devices do. No tensor::Purpose has this stream.
constexpr tensor::Words draw_of(std::uint64_t seed, int device, long gradient) {
  auto const low = [](auto v) { return static_cast<std::uint32_t>(v); };
  auto const g = static_cast<std::uint64_t>(gradient);
  return tensor::philox({low(g), low(g >> 32), low(device), 0}, low(seed), low(seed >> 32));
}
/// In [0, 1), 32 bits.
constexpr double uniform(std::uint32_t word) { return word * 0x1p-32; }
/// Exponentially distributed, with mean 1, at most 22.2.
inline double exponential(std::uint32_t word) { return -std::log(1 - uniform(word)); }

/// A gradient takes `least_ns`, and an exponential time of mean `spread_ns` on top; a share `late` of gradients, drawn
/// for each alike, takes `delay_ns` more, and an exponential time of mean `delay_spread_ns` on top of that. All in
/// nanoseconds; none may be negative. Another distribution, or one for each device, is another such function.
struct StepTimes {
  double least_ns = 0, spread_ns = 0, late = 0, delay_ns = 0, delay_spread_ns = 0;

  double operator()(int /*device*/, long /*gradient*/, tensor::Words const& draw) const {
    double t = least_ns;
    if (spread_ns > 0) t += spread_ns * exponential(draw.a);
    if (late > 0 && uniform(draw.b) < late) t += delay_ns + delay_spread_ns * exponential(draw.c);
    return t;
  }
  /// Nanoseconds.
  constexpr double mean() const { return least_ns + spread_ns + late * (delay_ns + delay_spread_ns); }
};

}  // namespace cleave::sim
