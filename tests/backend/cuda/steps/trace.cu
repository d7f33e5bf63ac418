// backend/cuda/steps/trace.cu - traces of steps on a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../../report/trace.cpp"
