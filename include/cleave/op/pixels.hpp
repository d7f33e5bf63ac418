// op/pixels.hpp - the pixels of an image as the positions of a sequence, whose features are the channels: "bctW->btc".
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// x (b, c, h, w), y (b, h w, c), row after row. Parts of an image's rows are parts of the positions.
struct Pixels : Base {
  static constexpr auto name = "pixels";
  static constexpr auto equation = "bctW->btc";
  static constexpr bool linear = true, of_images = true;
  static constexpr Shape output(Shape x) { return Shape(x[1] * x[2], x[0]); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.y[e] = t.x[in_image<L>(e)]; });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.dx[in_image<L>(e)] = t.dy[e]; });
  }

 private:
  template <Local L> CLEAVE_HD static constexpr long in_image(long e) {
    constexpr long positions = L.y[0], channels = L.y[1];
    return (e / (positions * channels) * channels + e % channels) * positions + e / channels % positions;
  }
};

}  // namespace cleave::op
