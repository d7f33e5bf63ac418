// run/launch.hpp - who started this process, as which rank of how many: read from the environment, first hit wins.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdlib>
#include <string>

#include "../meta/error.hpp"

namespace cleave::session {

struct Launch {
  std::string by;  // empty: nobody, a process of its own
  int rank = 0, size = 1, local_rank = 0;
  std::string host;  // where rank 0 is, if the launcher says so
  int port = 0;
  bool mpi = false;  // MPI_Init would find the others
};

/// `get(name)` is the environment: a null pointer for what is not set. Numbers that are none are an error.
template <class Get> Launch launched(Get get) {
  auto const number = [&](char const* name, int otherwise) {
    char const* const text = get(name);
    if (!text) return otherwise;
    char* end = nullptr;
    long const n = std::strtol(text, &end, 10);
    if (end == text || *end != 0 || n < 0 || n > 1'000'000) {
      throw Error(std::string("the environment says ") + name + "=" + text + ", which is no rank or size");
    }
    return static_cast<int>(n);
  };
  Launch l;
  auto const take = [&](char const* by, char const* rank, char const* size, char const* local, bool mpi) {
    if (!l.by.empty() || !get(rank) || !get(size)) return;
    l.by = by;
    l.rank = number(rank, 0);
    l.size = number(size, 1);
    l.local_rank = number(local, 0);
    l.mpi = mpi;
  };
  take("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", true);
  take("MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", true);
  take("torchrun or by hand", "RANK", "WORLD_SIZE", "LOCAL_RANK", false);
  if (get("SLURM_STEP_ID"))
    take("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", true);  // not in an salloc shell
  take("Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", true);
  if (l.rank >= l.size) {
    throw Error(l.by + " says rank " + std::to_string(l.rank) + " of " + std::to_string(l.size) +
                "; ranks are counted from 0");
  }
  if (char const* const host = get("MASTER_ADDR")) {
    l.host = host;
    l.port = number("MASTER_PORT", 29500) + 1;  // torchrun's own store may listen on the port itself
  } else if (char const* const nodes = get("SLURM_STEP_NODELIST"); nodes && l.by == "Slurm") {
    std::string const list = nodes;  // gpu[003-007,9],cpu1: the first name, with the first number in its brackets
    std::size_t const cut = list.find_first_of(",[");
    l.host = list.substr(0, cut);
    if (cut != std::string::npos && list[cut] == '[')
      l.host += list.substr(cut + 1, list.find_first_of(",-]", cut) - cut - 1);
    l.port = number("SLURM_JOB_ID", 0) % 4096 + 61440;
  }
  return l;
}
inline Launch launched() {
  return launched([](char const* name) { return std::getenv(name); });
}

}  // namespace cleave::session
