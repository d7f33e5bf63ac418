// emulated.hpp - a device that needs no GPU: every kernel as the threads of its blocks. To test with, not to train fast.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../cleave.hpp"

#include "backend/emulate/machine.hpp"
#include "run/device_trainer.hpp"

namespace cleave {

/// `run<Train, Mnist, Emulated>`: `--backend emulated`.
struct Emulated {
  static constexpr auto name = "emulated";
  using Machine = backend::emulate::Machine;
};

}  // namespace cleave
