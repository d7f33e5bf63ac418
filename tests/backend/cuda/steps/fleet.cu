// backend/cuda/steps/fleet.cu - ranks on a device against threads, in every format and with every optimizer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../gpu/execution/fleet.cpp"
