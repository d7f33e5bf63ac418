// train/process_group.hpp - the processes that mpirun or srun has started, for a program with a trainer of its own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "../backend/mpi/process.hpp"
#include "../meta/error.hpp"
#include "launch.hpp"
#include "stop.hpp"

namespace cleave {

/// `ProcessGroup group; Trainer<Train> trainer({.processes = &group});` in a program built with cleave::mpi: each
/// process that mpirun or srun has started is one rank, or, with more `.replicas`, has as many ranks as the others, as
/// threads. A process that nobody has started is a group of one, and its trainer runs on threads. Make it once, before
/// any trainer, and let it outlive them. Every process makes the same calls with the same data, all from one thread.
/// Catch exceptions where the group still lives, and hand them to `fail`.
class ProcessGroup {
 public:
  /// Throws Error if several processes were started, but this program was built without MPI.
  ProcessGroup() : ProcessGroup(session::launched()) {}
  ProcessGroup(ProcessGroup const&) = delete;
  ProcessGroup& operator=(ProcessGroup const&) = delete;
  /// If an exception passes, ends all processes: the others would wait for this one.
  ~ProcessGroup() {
    if (std::uncaught_exceptions() <= exceptions_ || size() == 1) return;
    std::fprintf(stderr, "rank %d: an exception passes, and the others cannot go on; all %d processes end\n", rank(),
                 size());
    process_.abort(session::ExitCode::error);
  }

  /// This process among those of the group, as MPI counts them; and how many there are.
  int rank() const { return process_.rank(); }
  int size() const { return process_.size(); }
  /// Whether this process is the first, which prints and writes.
  bool leads() const { return rank() == 0; }
  /// Says on stderr what is wrong, with the rank, and ends all processes with this code: 2, or 3 if training has
  /// diverged. Of a group of one: returns the code.
  int fail(std::exception const& e) {
    if (size() == 1) {
      std::fprintf(stderr, "%s\n", e.what());
    } else {
      std::fprintf(stderr, "rank %d: %s\n", rank(), e.what());
    }
    int const code = dynamic_cast<Diverged const*>(&e) ? session::ExitCode::diverged : session::ExitCode::error;
    process_.abort(code);
    return code;
  }

  /// The number of replicas if a replica has so many ranks, its ways in all its stages: `wanted`, or 0 for one rank in
  /// each process. Throws Error if the processes cannot have as many ranks each, or one is no whole replica's.
  int replicas(int each, int wanted) const {
    if (wanted == 0 && size() % each != 0)
      throw Error({size(), " processes: a replica of this plan has ", each, " ranks; start a multiple of ", each,
                   ", or say how many .replicas there are, whose ranks the processes share"});
    if (wanted > 0 && wanted * each % size() != 0)
      throw Error({".replicas = ", wanted, " have ", wanted * each, " ranks, which ", size(),
                   " processes cannot share equally"});
    return wanted > 0 ? wanted : size() / each;
  }
  /// Throws Error, on every process, unless all give the same number; `what` is what they would differ in.
  void check_same(std::uint64_t number, std::string const& what) const {
    if (int const other = process_.stranger(number); other >= 0)
      throw Error({"rank ", other, " has ", what, " than rank 0"});
  }
  /// Of one trainer.
  std::unique_ptr<backend::host::Remote> remote() const { return process_.another_remote(); }

 private:
  explicit ProcessGroup(session::Launch const& launch)
      : process_(backend::mpi::Process::has_mpi && launch.mpi && launch.size > 1) {
    if (launch.size > 1 && size() == 1)
      throw Error({launch.by, " has started ", launch.size,
                   " processes, and each would train alone: build with cleave::mpi and start by mpirun or srun"});
  }
  backend::mpi::Process process_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace cleave
