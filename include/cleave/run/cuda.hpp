// run/cuda.hpp - puts a program on a GPU: comes by itself where CLEAVE_CUDA is defined and the source is compiled as CUDA.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/cuda/machine.hpp"
#include "device_trainer.hpp"

namespace cleave {

/// --backend cuda: all ranks on one CUDA device, as streams; a training step is one graph.
struct Cuda {
  static constexpr auto name = "cuda";
  using Machine = backend::cuda::Machine;
};

}  // namespace cleave
