// tensor/shape.hpp - the extents of a tensor without its batch letter, outermost first: (f), (t, f), (c, h, w), (o, i, k, l).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"

namespace cleave {

/// At most four extents, stored as scalars because under nvcc a kernel's template argument may not hold an array.
struct Shape {
  int dims = 0;
  int e0 = 1, e1 = 1, e2 = 1, e3 = 1;

  constexpr Shape() = default;
  CLEAVE_HD constexpr explicit Shape(int a) : dims(1), e0(a) {}
  CLEAVE_HD constexpr Shape(int a, int b) : dims(2), e0(a), e1(b) {}
  CLEAVE_HD constexpr Shape(int a, int b, int c) : dims(3), e0(a), e1(b), e2(c) {}
  CLEAVE_HD constexpr Shape(int a, int b, int c, int d) : dims(4), e0(a), e1(b), e2(c), e3(d) {}

  /// All members; nvcc's stubs spell a template argument with them.
  CLEAVE_HD constexpr Shape(int dims_, int a, int b, int c, int d) : dims(dims_), e0(a), e1(b), e2(c), e3(d) {}

  CLEAVE_HD constexpr int operator[](int d) const { return d == 0 ? e0 : d == 1 ? e1 : d == 2 ? e2 : e3; }
  CLEAVE_HD constexpr long size() const { return dims == 0 ? 0 : long{e0} * e1 * e2 * e3; }
  /// The number of elements below one index of dimension d.
  CLEAVE_HD constexpr long stride(int d) const {
    return d == 0 ? long{e1} * e2 * e3 : d == 1 ? long{e2} * e3 : d == 2 ? e3 : 1;
  }
  CLEAVE_HD constexpr Shape with(int d, int extent) const {
    Shape s = *this;
    (d == 0 ? s.e0 : d == 1 ? s.e1 : d == 2 ? s.e2 : s.e3) = extent;
    return s;
  }
  /// Of what lies below one index of dimension 0, and of n such.
  CLEAVE_HD constexpr Shape below() const { return dims > 1 ? Shape(dims - 1, e1, e2, e3, 1) : Shape(dims); }
  CLEAVE_HD constexpr Shape times(int n) const { return Shape(dims + 1, n, e0, e1, e2); }
  CLEAVE_HD constexpr Shape flat() const { return Shape(static_cast<int>(size())); }
  friend constexpr bool operator==(Shape, Shape) = default;
};

}  // namespace cleave
