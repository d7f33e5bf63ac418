// backend/host/kernels/map.hpp - the gradient of a map: slopes first, then products, since together they would be a branch each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/map.hpp"
#include "kernel.hpp"

namespace cleave::backend::host {

/// Where a slope is one of two numbers, compilers make a jump of `dy * slope` and one element at a time.
template <class F> struct Kernel<op::Map<F>> : Pointwise<op::Map<F>> {
  template <op::Local L, class T> static void backward_input(Context, op::Operands<T> const& t) {
    times_slopes(F::from_output ? t.y : t.x, t.dy, t.dx, Pointwise<op::Map<F>>::template elements_of<L>(t));
  }

 private:
  template <class T> [[gnu::noinline]] static void times_slopes(T const* v, T const* dy, T* dx, long n) {
    using A = tensor::accumulate_t<T>;
    constexpr long block = 64;
    long const whole = n / block * block;
    A slope[block];
    for (long i = 0; i < whole; i += block) {
      for (long k = 0; k < block; ++k) slope[k] = F::slope(static_cast<A>(v[i + k]));
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
      for (long k = 0; k < block; ++k) dx[i + k] = static_cast<T>(static_cast<A>(dy[i + k]) * slope[k]);
    }
    for (long i = whole; i < n; ++i) dx[i] = static_cast<T>(static_cast<A>(dy[i]) * F::slope(static_cast<A>(v[i])));
  }
};

}  // namespace cleave::backend::host
