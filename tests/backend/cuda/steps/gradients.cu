// backend/cuda/steps/gradients.cu - gradients clipped, encoded and routed on a device against threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../train/device_clip.cpp"
#include "../../gpu/exchange.cpp"
