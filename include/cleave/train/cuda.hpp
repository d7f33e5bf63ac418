// train/cuda.hpp - the CUDA backend of a program; included automatically if CLEAVE_CUDA is defined and the source is CUDA.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/cuda/machine.hpp"
#include "device_ranks.hpp"
#include "device_trainer.hpp"
#ifdef CLEAVE_CUBLAS
#include "../backend/cublas/api.hpp"
#include "../backend/cublas/products.hpp"
#endif
#ifdef CLEAVE_CUDNN
#include "../backend/cudnn/api.hpp"
#include "../backend/cudnn/convolutions.hpp"
#endif
#ifdef CLEAVE_NCCL
#include "nccl.hpp"
#endif

namespace cleave {

/// --backend cuda: all ranks on one CUDA device, as streams; a training step is one graph.
struct Cuda {
  static constexpr auto name = "cuda";
#ifdef CLEAVE_CUBLAS  // products by the library where it is faster
  using Multiplies = backend::cublas::With<backend::cuda::Machine, backend::cublas::Api>;
#else
  using Multiplies = backend::cuda::Machine;
#endif
#ifdef CLEAVE_CUDNN  // and convolutions
  using Machine = backend::cudnn::With<Multiplies, backend::cudnn::Api>;
#else
  using Machine = Multiplies;
#endif
  using Link = backend::gpu::AllHere;
  /// Selects the GPU for this local rank. While there are enough GPUs, each rank on a machine gets a different one.
  static void pick(int local_rank) {
    int const count = backend::cuda::devices();
    if (count > 0) backend::cuda::check(cudaSetDevice(local_rank % count), "set the device");
  }
#ifdef CLEAVE_NCCL  // a link between the GPUs of processes
  static auto connect(backend::host::Remote& peers, int size) { return session::connect(peers, size); }
#endif
};

}  // namespace cleave
