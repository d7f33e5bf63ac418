// backend/cuda/kernels/sums.cu - the tests of sums over rows and columns, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../backend/gpu/columns.cpp"
#include "../../../backend/gpu/rows.cpp"
