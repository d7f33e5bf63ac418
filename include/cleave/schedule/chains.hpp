// schedule/chains.hpp - what is fused to a node's step, and which steps are linked: asked of a schedule, and of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::schedule {

/// Base of Of, which has step, steps, bias, map, adds, forward_tail and backward_tail.
template <class Of> struct Chains {
  /// The length of a node's fused chain, and its i-th node; -1 for the addition of gradients.
  constexpr int tail(int k, bool back) const {
    return back ? of().adds[k] + of().backward_tail[k] : of().forward_tail[k];
  }
  constexpr int behind(int k, bool back, int i) const {
    if (back && of().adds[k] && i == 0) return -1;
    return back ? k - 1 - (i - of().adds[k]) : k + 1 + (of().bias[k] >= 0) + (of().map[k] >= 0) + i;
  }
  /// The number of linked steps after step s, if it is the first of them; else 0.
  constexpr int links(int s) const {
    int n = 0;
    while (!of().step[s].linked && s + n + 1 < of().steps && of().step[s + n + 1].linked) ++n;
    return n;
  }

 private:
  constexpr Of const& of() const { return static_cast<Of const&>(*this); }
};

}  // namespace cleave::schedule
