// place/axis_set.hpp - a set of axes of a mesh: the group of ranks that differ in their indices along these only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <initializer_list>

namespace cleave::place {

inline constexpr int most_axes = 4;
/// The axis of the replicas, whose number is known when a run starts; the outermost one. All others are of a replica.
inline constexpr int data_axis = 0;

struct AxisSet {
  unsigned bits = 0;
  constexpr AxisSet() = default;
  constexpr AxisSet(std::initializer_list<int> axes) {
    for (int axis : axes) bits |= 1u << axis;
  }
  constexpr bool has(int axis) const { return (bits >> axis & 1u) != 0; }
  constexpr bool any() const { return bits != 0; }
  constexpr int count() const { return std::popcount(bits); }
  friend constexpr bool operator==(AxisSet, AxisSet) = default;
  /// The axes of `a` that `b` does not have.
  friend constexpr AxisSet operator-(AxisSet a, AxisSet b) {
    a.bits &= ~b.bits;
    return a;
  }
};

inline constexpr AxisSet over_data{data_axis};

}  // namespace cleave::place
