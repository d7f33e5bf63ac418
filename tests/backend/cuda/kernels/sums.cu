// backend/cuda/kernels/sums.cu - the tests of sums over rows and columns, of micro-batches in one launch, of what streams
// and of chains of operations, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/kernels/columns.cpp"
#include "../../gpu/kernels/pack.cpp"
#include "../../gpu/kernels/rows.cpp"
#include "../../gpu/kernels/tailed.cpp"
#include "../../gpu/slices.cpp"
