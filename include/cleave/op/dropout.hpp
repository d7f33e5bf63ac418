// op/dropout.hpp - sets elements to zero with probability Percent/100 in training; depends on the global index only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "../tensor/philox.hpp"
#include "operands.hpp"

namespace cleave::op {

/// Other elements are scaled by 1/(1 - Percent/100), so that evaluation changes nothing. The mask is generated again in
/// the backward pass, never stored. Source: Srivastava et al., "Dropout", JMLR 2014.
template <int Percent> struct Drop : Base {
  static constexpr auto name = "dropout";
  static constexpr auto equation = "b*->b*";
  static constexpr bool elementwise = true, pointwise = true, keeps_zeros = true;
  static constexpr Shape output(Shape x) { return x; }

  template <Local L, class T> CLEAVE_HD static T kept(Operands<T> const& t, T value, long e) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.y.size();
    tensor::Random const draw{t.pass->seed, tensor::Purpose::Dropout, t.where.layer};
    long of_sample = e % n;
    if (t.where.lines > 1) {
      long const width = n / t.where.lines;
      of_sample = of_sample / width * t.where.line + of_sample % width;
    }
    long const index = (t.pass->first + t.where.sample + e / n) * t.where.features + t.where.feature + of_sample;
    bool const keep = draw.uniform(static_cast<std::uint64_t>(index), t.pass->step) >= Percent / 100.0f;
    return keep ? static_cast<T>(static_cast<A>(value) * (A{100} / A{100 - Percent})) : static_cast<T>(A{0});
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.y[e] = t.pass->training ? kept<L>(t, t.x[e], e) : t.x[e]; });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    ctx.each(L.rows * L.y.size(), [&](long e) { t.dx[e] = t.pass->training ? kept<L>(t, t.dy[e], e) : t.dy[e]; });
  }
};

}  // namespace cleave::op
