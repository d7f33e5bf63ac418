// cuda.hpp - for .cu files: the library, and the one word that puts a program on a GPU, `run<Train, Mnist, Cuda>`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../cleave.hpp"

#include "backend/cuda/machine.hpp"
#include "run/device_trainer.hpp"

namespace cleave {

/// `--backend cuda`: all ranks on one CUDA device, as streams; a training step is one graph.
struct Cuda {
  static constexpr auto name = "cuda";
  using Machine = backend::cuda::Machine;
};

}  // namespace cleave
