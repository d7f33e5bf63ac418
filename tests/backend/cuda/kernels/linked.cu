// backend/cuda/kernels/linked.cu - the tests of linked products, clipping and codecs, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../backend/gpu/clip.cpp"
#include "../../../backend/gpu/coder.cpp"
#include "../../../backend/gpu/linked.cpp"
