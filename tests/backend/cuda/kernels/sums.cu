// backend/cuda/kernels/sums.cu - the tests of sums over rows and columns, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/kernels/columns.cpp"
#include "../../gpu/kernels/rows.cpp"
