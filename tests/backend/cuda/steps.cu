// backend/cuda/steps.cu - whole plans on a device against threads: one rank and several, data-parallel and split.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../../run/device_clip.cpp"
#include "../../run/device_trainer.cpp"
#include "../../run/trace.cpp"
#include "../gpu/exchange.cpp"
#include "../gpu/fleet.cpp"
