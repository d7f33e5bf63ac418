// backend/cuda/steps/plans.cu - whole plans, split layers, checkpoints and traces on a device against threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../report/trace.cpp"
#include "../../../train/device_trainer.cpp"
