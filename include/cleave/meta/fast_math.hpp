// meta/fast_math.hpp - refuses compiler options that hide NaNs and change the order of sums.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "cleave: compile without -ffast-math, -Ofast and -ffinite-math-only: they lose NaNs and the fixed order of sums"
#endif
