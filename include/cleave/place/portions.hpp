// place/portions.hpp - the number of micro-batches of each replica, if replicas have different batch sizes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::place {

/// Groups of equally many neighbouring replicas; without groups all have the same. The number of replicas is a multiple
/// of the groups.
struct Portions {
  static constexpr int most = 8;
  int groups = 0;
  int each[most]{};

  /// The micro-batches of replica r of n, and of all replicas before it.
  constexpr int of(int r, int n) const { return each[r / (n / groups)]; }
  constexpr int before(int r, int n) const {
    int const members = n / groups, group = r / members;
    int sum = (r - group * members) * each[group];
    for (int g = 0; g < group; ++g) sum += members * each[g];
    return sum;
  }
  constexpr int largest() const {
    int out = 0;
    for (int g = 0; g < groups; ++g) out = each[g] > out ? each[g] : out;
    return out;
  }
};

}  // namespace cleave::place
