// layer/input.hpp - the shape of a sample: Vector<features>, Sequence<positions, features>, Image<channels, height, width>.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../tensor/shape.hpp"
#include "laws.hpp"

namespace cleave {

template <int Features> struct Vector {
  using law = layer::input_extents_are_positive<Features>;
  static constexpr Shape shape{Features};
};
/// Each position of a sequence has features of its own.
template <int Positions, int Features> struct Sequence {
  using law = layer::input_extents_are_positive<Positions, Features>;
  static constexpr Shape shape{Positions, Features};
};
template <int Channels, int Height, int Width> struct Image {
  using law = layer::input_extents_are_positive<Channels, Height, Width>;
  static constexpr Shape shape{Channels, Height, Width};
};

}  // namespace cleave
