// tensor/partition.hpp - how a dimension is cut into parts: the one division of everything that is split.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"

namespace cleave {

/// `extent` elements in contiguous, complete, disjoint parts of whole units, whose sizes differ by at most one unit.
/// The last unit may be shorter. A unit is what has to stay together: all pixels of a channel, where channels are cut.
struct Partition {
  long extent = 0;
  long unit = 1;

  CLEAVE_HD constexpr long begin(int part, int parts) const {
    if (unit == 1) return extent * part / parts;
    long const at = (extent + unit - 1) / unit * part / parts * unit;
    return at < extent ? at : extent;
  }
  CLEAVE_HD constexpr long size(int part, int parts) const { return begin(part + 1, parts) - begin(part, parts); }
  /// Of the largest part.
  CLEAVE_HD constexpr long most(int parts) const {
    long const units = (extent + unit - 1) / unit, at = (units + parts - 1) / parts * unit;
    return at < extent ? at : extent;
  }
};

}  // namespace cleave
