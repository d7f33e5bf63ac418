// backend/cuda/kernels/images.cu - the tests of convolutions, look-ups and operations by their definition, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../backend/gpu/convolve.cpp"
#include "../../../backend/gpu/kernel.cpp"
#include "../../../backend/gpu/lookup.cpp"
