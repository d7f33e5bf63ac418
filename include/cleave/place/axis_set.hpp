// place/axis_set.hpp - a set of axes of a mesh: the group of ranks that differ in their indices along these only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <initializer_list>

namespace cleave::place {

inline constexpr int most_axes = 4;
/// The axes of a plan's mesh, the outermost first.
inline constexpr int data_axis = 0, model_axis = 1;

struct AxisSet {
  unsigned bits = 0;
  constexpr AxisSet() = default;
  constexpr AxisSet(std::initializer_list<int> axes) {
    for (int axis : axes) bits |= 1u << axis;
  }
  constexpr bool has(int axis) const { return (bits >> axis & 1u) != 0; }
  friend constexpr bool operator==(AxisSet, AxisSet) = default;
};

inline constexpr AxisSet over_data{data_axis}, over_model{model_axis}, over_all{data_axis, model_axis};

}  // namespace cleave::place
