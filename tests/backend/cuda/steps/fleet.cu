// backend/cuda/steps/fleet.cu - split layers on the ranks of a device against threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/execution/fleet.cpp"
