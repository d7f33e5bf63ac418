// backend/cuda/kernels/sequences.cu - the tests of positions, heads and attention, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/kernels/reshaped.cpp"
