// op/response_norm.hpp - y = x / (k + alpha/n sum of squares over n neighbouring channels of a group)^beta; groups stay whole.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// Source: Krizhevsky, Sutskever, Hinton, "ImageNet classification with deep convolutional neural networks", 2012,
/// section 3.3, with alpha divided by the number of channels as in other libraries. Neighbours are in the same of
/// `Groups` groups of channels, so that a split of the channels along groups exchanges nothing.
template <int Channels, class Constants, int Groups = 1> struct ResponseNorm : Base {
  static constexpr auto name = "local_response_norm";
  static constexpr auto equation = Groups == 1 ? "bCtW->bCtW" : "bctW->bctW";
  static constexpr bool reads_x = true, reads_y = true;
  static constexpr int before = Channels / 2, after = (Channels - 1) / 2, groups = Groups;
  static constexpr int parts(char letter, int n) { return letter == 'c' ? Groups : n; }
  static constexpr Shape output(Shape x) { return x; }
  static constexpr long aux(Shape, Shape y) { return y.size(); }  // k + alpha/n sum

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long below = L.x.stride(0);
    ctx.each(L.rows * L.x.size(), [&](long e) {
      InGroup const c = in_group<L>(e, t);
      A sum = 0;
      for (int d = c.at < before ? -c.at : -before; d <= after && c.at + d < c.of; ++d) {
        A const v = static_cast<A>(t.x[e + d * below]);
        sum += v * v;
      }
      t.aux[e] = static_cast<A>(Constants::k) + static_cast<A>(Constants::alpha) / A{Channels} * sum;
      t.y[e] = static_cast<T>(static_cast<A>(t.x[e]) * std::pow(t.aux[e], -static_cast<A>(Constants::beta)));
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long below = L.x.stride(0);
    ctx.each(L.rows * L.x.size(), [&](long e) {
      InGroup const c = in_group<L>(e, t);
      A sum = 0;  // over the channels whose neighbourhood holds c
      for (int d = c.at < after ? -c.at : -after; d <= before && c.at + d < c.of; ++d) {
        long const o = e + d * below;
        sum += static_cast<A>(t.dy[o]) * static_cast<A>(t.y[o]) / t.aux[o];
      }
      A const scale = A{2} * static_cast<A>(Constants::alpha * Constants::beta) / A{Channels};
      t.dx[e] = static_cast<T>(static_cast<A>(t.dy[e]) * std::pow(t.aux[e], -static_cast<A>(Constants::beta)) -
                               scale * static_cast<A>(t.x[e]) * sum);
    });
  }

 private:
  /// A channel, and how many the group has.
  struct InGroup {
    int at, of;
  };
  template <Local L, class T> CLEAVE_HD static InGroup in_group(long element, Operands<T> const& t) {
    int const channel = static_cast<int>(element / L.x.stride(0) % L.x[0]);
    if constexpr (Groups == 1) {
      return {channel, L.x[0]};
    } else {
      int const of = static_cast<int>(t.where.features / L.x.stride(0) / Groups);
      return {channel % of, of};
    }
  }
};

}  // namespace cleave::op
