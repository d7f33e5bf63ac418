// send/laws.hpp - laws of compressed gradient formats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::send {

/// For a codec without laws.
struct sendable {
  static constexpr bool holds = true;
  template <bool> struct tell {};
};
template <int PerMille> struct top_k_is_a_share {
  static constexpr bool holds = PerMille >= 1 && PerMille <= 1000;
  template <bool Holds> struct tell {
    static_assert(Holds, "TopK<n>: n of every 1000 elements are sent, from 1 to 1000");
  };
};

template <int ReplicasPerNode> struct nodes_have_replicas {
  static constexpr bool holds = ReplicasPerNode >= 1;
  template <bool Holds> struct tell { static_assert(Holds, "Hierarchical<n>: a node has n replicas, at least 1"); };
};

}  // namespace cleave::send
