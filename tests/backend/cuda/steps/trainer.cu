// backend/cuda/steps/trainer.cu - whole plans on a device against threads, and their checkpoints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../train/device_trainer.cpp"
