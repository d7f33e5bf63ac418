// backend/cuda/kernels/products.cu - the tests of products on tensor cores and without, compiled for a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/kernels/peaks.cpp"
#include "../../gpu/kernels/product.cpp"
