// op/map.hpp - y = f(x) element by element. "b*->b*": any letter may be split; not linear, so never on a partial sum.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// A map that libraries know by a name: F says `known` if its forward is exactly that.
enum class Known : unsigned char { None, Relu };
template <class F> constexpr Known known_as() {
  if constexpr (requires { F::known; }) {
    return F::known;
  } else {
    return Known::None;
  }
}

/// F has `forward(x)`, and `slope(v)`: the derivative as a function of y if `F::from_output`, of x otherwise.
template <class F> struct Map : Base {
  using function = F;
  static constexpr auto name = F::name;
  static constexpr auto equation = "b*->b*";
  static constexpr bool elementwise = true, pointwise = true;
  static constexpr bool reads_x = !F::from_output, reads_y = F::from_output;
  static constexpr bool keeps_zeros = requires { requires F::keeps_zeros; };
  static constexpr Shape output(Shape x) { return x; }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.y.size(), [&](long i) { t.y[i] = static_cast<T>(F::forward(static_cast<A>(t.x[i]))); });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    T const* const v = F::from_output ? t.y : t.x;
    ctx.each(L.rows * L.y.size(),
             [&](long i) { t.dx[i] = static_cast<T>(static_cast<A>(t.dy[i]) * F::slope(static_cast<A>(v[i]))); });
  }
};

template <class F> inline constexpr bool of_any_extents<Map<F>> = true;

}  // namespace cleave::op
