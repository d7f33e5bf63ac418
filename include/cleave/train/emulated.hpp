// train/emulated.hpp - a device without a GPU: kernels run as the threads of their blocks. For tests, not for fast training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/emulate/machine.hpp"
#include "device_ranks.hpp"
#include "device_trainer.hpp"

namespace cleave {

/// `run<Train, Mnist, Emulated>` enables --backend emulated.
struct Emulated {
  static constexpr auto name = "emulated";
  using Machine = backend::emulate::Machine;
  using Link = backend::gpu::AllHere;
};

}  // namespace cleave
