// train/launch.hpp - who started this process, as which rank of how many: read from the environment, first hit wins.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>

#include "../meta/error.hpp"

namespace cleave::session {

struct Launch {
  std::string by;  // as in "started by ..." and "... has started"; empty: nobody, a process of its own
  int rank = 0, size = 1, local_rank = 0;
  std::string host;  // where rank 0 is, if the launcher says so
  int port = 0;
  bool mpi = false;       // MPI_Init would find the others
  bool one_host = false;  // the launcher says that all processes are on this machine
};

/// A variable of the environment that is to be a whole number from `low` to `high`; `what` names such numbers.
inline long number_of(char const* name, char const* text, long low, long high, char const* what) {
  char const* const end = text + std::strlen(text);
  long n = 0;
  auto const [stopped, code] = std::from_chars(text, end, n);
  if (code == std::errc{} && stopped == end && n >= low && n <= high) return n;
  throw Error(
      {"the environment says ", name, "=", text, ", which is no ", what, ": those are from ", low, " to ", high});
}

/// `get(name)` is the environment: a null pointer for what is not set. A number out of its range is an Error.
template <class Get> Launch launched(Get get) {
  auto const number = [&](char const* name, long otherwise, long low, long high, char const* what) {
    char const* const text = get(name);
    return text ? number_of(name, text, low, high, what) : otherwise;
  };
  auto const counted = [&](char const* name, long otherwise, long low, char const* what) {
    return static_cast<int>(number(name, otherwise, low, 1'000'000, what));
  };
  Launch l;
  auto const take = [&](char const* by, char const* rank, char const* size, char const* local, bool mpi) {
    if (!l.by.empty() || !get(rank) || !get(size)) return;
    l.by = by;
    l.rank = counted(rank, 0, 0, "rank");
    l.size = counted(size, 1, 1, "number of processes");
    l.local_rank = counted(local, 0, 0, "rank");
    l.mpi = mpi;
  };
  take("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", true);
  take("MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", true);
  take("a launcher that sets RANK and WORLD_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK", false);
  if (get("SLURM_STEP_ID"))
    take("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", true);  // not in an salloc shell
  take("Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", true);
  if (l.rank >= l.size) {
    throw Error({l.by, " says rank ", l.rank, " of ", l.size, "; ranks are counted from 0"});
  }
  if (char const* const host = get("MASTER_ADDR")) {
    l.host = host;
    // torchrun's own store may listen on the port itself: the next one is taken.
    l.port = static_cast<int>(number("MASTER_PORT", 29500, 1, 65534, "port with another above it")) + 1;
  } else if (char const* const nodes = get("SLURM_STEP_NODELIST"); nodes && l.by == "Slurm") {
    std::string const list = nodes;  // gpu[003-007,9],cpu1: the first name, with the first number in its brackets
    std::size_t const cut = list.find_first_of(",[");
    l.host = list.substr(0, cut);
    if (cut != std::string::npos && list[cut] == '[')
      l.host += list.substr(cut + 1, list.find_first_of(",-]", cut) - cut - 1);
    long const job = number("SLURM_JOB_ID", 0, 0, std::numeric_limits<long>::max(), "job id");
    l.port = static_cast<int>(job % 4096) + 61440;
  }
  auto const says = [&](char const* name, std::string const& value) {
    char const* const text = get(name);
    return text && text == value;
  };
  l.one_host =
      says("LOCAL_WORLD_SIZE", std::to_string(l.size)) || (l.by == "Slurm" && says("SLURM_STEP_NUM_NODES", "1"));
  return l;
}
template <class = void> Launch launched() {
  return launched([](char const* name) { return std::getenv(name); });
}

}  // namespace cleave::session
