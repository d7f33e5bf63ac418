// backend/cuda/kernels/images.cu - the tests of convolutions, look-ups and operations by their definition, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/kernels/convolve.cpp"
#include "../../gpu/kernels/kernel.cpp"
#include "../../gpu/kernels/lookup.cpp"
