// tensor/philox.hpp - random numbers as a pure function of (seed, stream, index): the same on any number of devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../meta/host_device.hpp"

namespace cleave::tensor {

struct Words {
  std::uint32_t a, b, c, d;
  friend constexpr bool operator==(Words, Words) = default;
};

/// Philox4x32-10. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
/// section 4.
CLEAVE_HD constexpr Words philox(Words counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const p = std::uint64_t{0xD2511F53u} * counter.a;
    std::uint64_t const q = std::uint64_t{0xCD9E8D57u} * counter.c;
    counter = {static_cast<std::uint32_t>(q >> 32) ^ counter.b ^ key0, static_cast<std::uint32_t>(q),
               static_cast<std::uint32_t>(p >> 32) ^ counter.d ^ key1, static_cast<std::uint32_t>(p)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// The purpose of a random number; two purposes never share a stream.
enum class Purpose : std::uint32_t { Weights = 1, Dropout = 2, Shuffle = 3, Augment = 4 };

/// One generator per (seed, purpose, which): `which` is the number of a weight, a layer, or an epoch.
struct Random {
  std::uint64_t seed;
  Purpose purpose;
  std::uint32_t which;

  CLEAVE_HD constexpr Words at(std::uint64_t index, std::uint32_t step = 0) const {
    Words const counter{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), step,
                        which * 16u + static_cast<std::uint32_t>(purpose)};
    return philox(counter, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  }
  /// In [0, 1), 24 bits.
  CLEAVE_HD constexpr float uniform(std::uint64_t index, std::uint32_t step = 0) const {
    return static_cast<float>(at(index, step).a >> 8) * 0x1p-24f;
  }
  /// In [0, below).
  CLEAVE_HD constexpr std::uint32_t below(std::uint32_t below, std::uint64_t index, std::uint32_t step = 0) const {
    return static_cast<std::uint32_t>((std::uint64_t{at(index, step).a} * below) >> 32);
  }
};

}  // namespace cleave::tensor
