// backend/cuda/kernels/moves.cu - the tests of what streams, and of chains of operations, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/kernels/pack.cpp"
#include "../../gpu/kernels/tailed.cpp"
