// tests/fuzz/launch.cpp - the environment of a launcher: one NAME=value a line of the input.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/train/launch.hpp>

#include <map>

#include "fuzz.hpp"

std::vector<std::string> fuzz::seeds() {
  return {"RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=0\nMASTER_ADDR=h\nMASTER_PORT=1234",
          "SLURM_STEP_ID=0\nSLURM_PROCID=5\nSLURM_NTASKS=8\nSLURM_LOCALID=1\nSLURM_STEP_NODELIST=gpu[003-007,9],c1\n"
          "SLURM_JOB_ID=67108864",
          "OMPI_COMM_WORLD_RANK=3\nOMPI_COMM_WORLD_SIZE=4\nOMPI_COMM_WORLD_LOCAL_RANK=1", "PMI_RANK=0\nPMI_SIZE=2",
          "FLUX_TASK_RANK=0\nFLUX_JOB_SIZE=2"};
}

void fuzz::read(std::string_view input) {
  std::map<std::string, std::string> environment;
  for (std::string const& line : split(input, '\n')) {
    std::size_t const equals = line.find('=');
    if (equals != std::string::npos) environment[line.substr(0, equals)] = line.substr(equals + 1);
  }
  cleave::session::Launch const launch = cleave::session::launched([&](char const* name) {
    auto const at = environment.find(name);
    return at == environment.end() ? nullptr : at->second.c_str();
  });
  check(launch.rank >= 0 && launch.rank < launch.size && launch.size <= 1'000'000, "a rank is below the size");
  check(launch.local_rank >= 0 && launch.port >= 0 && launch.port <= 65535, "a port has 16 bits");
}
