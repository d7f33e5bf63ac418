// layer/input.hpp - what a sample is: Vector<features>, Image<channels, height, width>.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../tensor/shape.hpp"

namespace cleave {

template <int Features> struct Vector { static constexpr Shape shape{Features}; };
template <int Channels, int Height, int Width> struct Image { static constexpr Shape shape{Channels, Height, Width}; };

}  // namespace cleave
