// data/shuffle.hpp - the random order of samples.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "../tensor/philox.hpp"

namespace cleave::session {

/// Writes 0, 1, ... to `order` and permutes them: every permutation is as likely (Durstenfeld, CACM 7(7), 1964). The
/// order is a function of the draw and the size alone.
inline void shuffle(std::vector<int>& order, tensor::Random const& draw) {
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[draw.below(static_cast<std::uint32_t>(left), left - 1)]);
}

}  // namespace cleave::session
