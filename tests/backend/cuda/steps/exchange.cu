// backend/cuda/steps/exchange.cu - encoded and routed sums of gradients on a device against threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/exchange.cpp"
