// backend/cuda/kernels/slices.cu - the tests of many micro-batches in one launch, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/slices.cpp"
