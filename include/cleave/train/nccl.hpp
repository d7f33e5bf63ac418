// train/nccl.hpp - sets up NCCL between processes: one GPU each, one identity for all, exchanged by their launcher.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "../backend/cuda/machine.hpp"
#include "../backend/host/communication/world.hpp"
#include "../backend/nccl/api.hpp"
#include "../backend/nccl/link.hpp"
#include "launch.hpp"

namespace cleave::session {

using NcclLink = backend::nccl::Link<backend::nccl::Api>;

/// Identifies a GPU of a host by a number that a double holds exactly.
inline double device_identity() {
  char host[256] = {}, bus[32] = {};
  ::gethostname(host, sizeof host - 1);
  int device = 0;
  backend::cuda::check(cudaGetDevice(&device), "ask which device this is");
  backend::cuda::check(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "ask where the device is");
  std::uint64_t hash = 14695981039346656037u;
  for (char c : std::string(host) + bus) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<double>(hash >> 12);
}

/// Called by all ranks after they have chosen their devices; `peers` broadcasts 128 numbers from rank 0. Two ranks on
/// one GPU are an error that names them, before NCCL is called.
inline std::unique_ptr<NcclLink> connect(backend::host::Remote& peers, int size) {
  std::vector<double> identity(static_cast<std::size_t>(size), 0);
  int const rank = peers.process();
  identity[static_cast<std::size_t>(rank)] = device_identity();
  peers.sum(identity.data(), size);
  for (int a = 0; a < size; ++a) {
    for (int b = a + 1; b < size; ++b) {
      if (identity[static_cast<std::size_t>(a)] != identity[static_cast<std::size_t>(b)]) continue;
      throw Error({"ranks ", a, " and ", b,
                   " are on the same GPU, and NCCL wants one for each; start fewer processes, or run one process with "
                   "--ranks ",
                   size, ": its ranks share a GPU"});
    }
  }
  backend::nccl::Api::Id id{};
  if (int const e = rank == 0 ? backend::nccl::Api::get_unique_id(&id) : 0; e != 0)
    throw Error({"NCCL: no identity: ", backend::nccl::Api::text(e)});
  std::vector<double> bytes(sizeof id, 0);
  auto* const raw = reinterpret_cast<unsigned char*>(&id);
  for (std::size_t i = 0; rank == 0 && i < sizeof id; ++i) bytes[i] = raw[i];
  peers.sum(bytes.data(), static_cast<int>(bytes.size()));
  for (std::size_t i = 0; i < sizeof id; ++i) raw[i] = static_cast<unsigned char>(bytes[i]);
  return std::make_unique<NcclLink>(backend::nccl::Api{}, rank, size, id);
}

}  // namespace cleave::session
