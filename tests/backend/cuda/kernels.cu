// backend/cuda/kernels.cu - the kernels' own tests, compiled for a device: forward and backward of each against f64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../gpu/clip.cpp"
#include "../gpu/coder.cpp"
#include "../gpu/columns.cpp"
#include "../gpu/convolve.cpp"
#include "../gpu/kernel.cpp"
#include "../gpu/linked.cpp"
#include "../gpu/lookup.cpp"
#include "../gpu/peaks.cpp"
#include "../gpu/product.cpp"
#include "../gpu/rows.cpp"
#include "../gpu/slices.cpp"
#include "../gpu/tailed.cpp"
