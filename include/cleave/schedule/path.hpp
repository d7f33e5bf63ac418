// schedule/path.hpp - an all-reduce algorithm as a value, and the group in which a bucket is summed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "../send/route.hpp"
#include "slices.hpp"
#include "step.hpp"

namespace cleave::schedule {

/// Unless `on`, direct all-reduce: each rank reduces its part from all and reads the other parts.
struct Path {
  bool on = false;
  long (*sent)(long elements, int rank, send::Group) = nullptr;
  int (*rounds)(long elements, send::Group) = nullptr;
  send::Move (*move)(long elements, int rank, send::Group, int round) = nullptr;
  bool (*fits)(send::Group) = nullptr;  // whether replicas fill its nodes
  std::string_view name;
  constexpr explicit operator bool() const { return on; }
};

constexpr send::Group group(AxisSet over, Ranks const& ranks, int bytes_each) {
  return {ranks.group_size(over), ranks.group_size(over - over_data), bytes_each};
}

}  // namespace cleave::schedule
