// meta/host_device.hpp - CLEAVE_HD marks a function that a kernel calls; the only macro there is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#ifdef __CUDACC__
#define CLEAVE_HD __host__ __device__
#else
#define CLEAVE_HD
#endif
