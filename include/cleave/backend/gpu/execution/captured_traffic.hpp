// backend/gpu/execution/captured_traffic.hpp - what ranks read from each other: counted once in a capture, for all its runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <vector>

#include "../../host/communication/member.hpp"

namespace cleave::backend::gpu {

/// Of one kind of pass.
class CapturedTraffic {
 public:
  /// Keeps the counters of the ranks, whose members `all` holds, and resets them.
  template <class One> void take(std::vector<One>& all) {
    of_.clear();
    for (One& one : all) {
      of_.push_back({one.m.received, one.m.received_bytes});
      std::fill(one.m.received.begin(), one.m.received.end(), 0);
      one.m.received_bytes = one.m.received;
    }
  }
  /// Elements, or bytes, that the other ranks read from this one in a pass.
  long sent(int rank) const { return total(&Counts::elements, rank); }
  long sent_bytes(int rank) const { return total(&Counts::bytes, rank); }

 private:
  struct Counts {
    std::vector<long> elements, bytes;  // from each rank
  };
  long total(std::vector<long> Counts::*what, int rank) const {
    long sum = 0;
    for (Counts const& c : of_) sum += (c.*what)[static_cast<std::size_t>(rank)];
    return sum;
  }
  std::vector<Counts> of_;  // of each rank
};

}  // namespace cleave::backend::gpu
