// run/emulated.hpp - a device that needs no GPU: every kernel as the threads of its blocks. To test with, not to train fast.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/emulate/machine.hpp"
#include "device_ranks.hpp"
#include "device_trainer.hpp"

namespace cleave {

/// `run<Train, Mnist, Emulated>`: then --backend emulated is there.
struct Emulated {
  static constexpr auto name = "emulated";
  using Machine = backend::emulate::Machine;
  using Link = backend::gpu::AllHere;
};

}  // namespace cleave
