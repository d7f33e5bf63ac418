// backend/cuda/steps/trainer.cu - whole plans on a device against threads, and their checkpoints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../run/device_trainer.cpp"
