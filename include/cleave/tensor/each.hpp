// tensor/each.hpp - f(i) for every i below n, for independent iterations; vectorised under plain -O2.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::tensor {

/// A block of constant length needs no remainder loop and no check for overlap, so that plain -O2 vectorises it.
template <class F> inline void each(long n, F const& f) {
  constexpr long block = 64;
  long const whole = n / block * block;
  for (long i = 0; i < whole; i += block) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
    for (long k = 0; k < block; ++k) f(i + k);
  }
  for (long i = whole; i < n; ++i) f(i);
}

}  // namespace cleave::tensor
