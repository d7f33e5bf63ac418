// meta/fast_math.hpp - refuses compiler options under which a NaN is not noticed and sums change their order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "cleave: compile without -ffast-math, -Ofast and -ffinite-math-only: they lose NaNs and the fixed order of sums"
#endif
