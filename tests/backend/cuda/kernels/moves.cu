// backend/cuda/kernels/moves.cu - the tests of what streams, and of chains of operations, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../backend/gpu/pack.cpp"
#include "../../../backend/gpu/tailed.cpp"
