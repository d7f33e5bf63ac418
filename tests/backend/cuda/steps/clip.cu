// backend/cuda/steps/clip.cu - plans that clip their gradients on a device against threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../train/device_clip.cpp"
