// meta/host_device.hpp - CLEAVE_HD marks a function that a kernel calls, CLEAVE_UNROLL a loop over registers; no other macros.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "fast_math.hpp"

#ifdef __CUDACC__
#define CLEAVE_HD __host__ __device__
#else
#define CLEAVE_HD
#endif

#ifdef __CUDA_ARCH__
#define CLEAVE_UNROLL _Pragma("unroll")
#else
#define CLEAVE_UNROLL
#endif
