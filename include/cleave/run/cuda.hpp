// run/cuda.hpp - puts a program on a GPU: comes by itself where CLEAVE_CUDA is defined and the source is compiled as CUDA.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/cuda/machine.hpp"
#include "device_trainer.hpp"
#ifdef CLEAVE_NCCL
#include "nccl.hpp"
#endif

namespace cleave {

/// --backend cuda: all ranks on one CUDA device, as streams; a training step is one graph.
struct Cuda {
  static constexpr auto name = "cuda";
  using Machine = backend::cuda::Machine;
  using Link = backend::gpu::AllHere;
#ifdef CLEAVE_NCCL  // processes have a GPU each
  static auto machine(int local_rank) {
    int const count = backend::cuda::devices();
    return std::make_unique<Machine>(count > 0 ? local_rank % count : 0);
  }
  static auto connect(backend::host::Remote& peers, int size) { return session::connect(peers, size); }
#endif
};

}  // namespace cleave
