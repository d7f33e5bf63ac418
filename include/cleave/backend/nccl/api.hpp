// backend/nccl/api.hpp - NCCL's functions, for nccl/link.hpp. Needs nccl.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>

#include <nccl.h>

namespace cleave::backend::nccl {

struct Api {
  using Comm = ncclComm_t;
  using Id = ncclUniqueId;
  static constexpr int in_progress = ncclInProgress;

  static int get_unique_id(Id* id) { return ncclGetUniqueId(id); }
  static int init(Comm* comm, int ranks, Id const& id, int rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    return ncclCommInitRankConfig(comm, ranks, id, rank, &config);
  }
  static int group_start() { return ncclGroupStart(); }
  static int group_end() { return ncclGroupEnd(); }
  static int send(void const* at, std::size_t bytes, int peer, Comm comm, cudaStream_t stream) {
    return ncclSend(at, bytes, ncclInt8, peer, comm, stream);
  }
  static int recv(void* at, std::size_t bytes, int peer, Comm comm, cudaStream_t stream) {
    return ncclRecv(at, bytes, ncclInt8, peer, comm, stream);
  }
  static int async_error(Comm comm, int* result) {
    ncclResult_t r = ncclSuccess;
    int const asked = ncclCommGetAsyncError(comm, &r);
    *result = r;
    return asked;
  }
  static int abort(Comm comm) { return ncclCommAbort(comm); }
  static int finalize(Comm comm) { return ncclCommFinalize(comm); }
  static int destroy(Comm comm) { return ncclCommDestroy(comm); }
  static std::string text(int result) {
    std::string const last = ncclGetLastError(nullptr);
    return ncclGetErrorString(static_cast<ncclResult_t>(result)) + (last.empty() ? "" : " (" + last + ")");
  }
};

}  // namespace cleave::backend::nccl
