// backend/cuda/kernels/linked.cu - the tests of linked products, clipping and codecs, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/kernels/clip.cpp"
#include "../../gpu/kernels/coder.cpp"
#include "../../gpu/kernels/linked.cpp"
