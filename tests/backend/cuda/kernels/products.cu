// backend/cuda/kernels/products.cu - the tests of products, alone, linked and by warpgroups, of clipping and codecs,
// compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/kernels/clip.cpp"
#include "../../gpu/kernels/coder.cpp"
#include "../../gpu/kernels/linked.cpp"
#include "../../gpu/kernels/peaks.cpp"
#include "../../gpu/kernels/product.cpp"
#include "../../gpu/kernels/warpgroups.cpp"
