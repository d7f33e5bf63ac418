// run/launch.cpp - each launcher's names, and what is no launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/run/launch.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace cleave;

namespace {
session::Launch with(std::map<std::string, std::string> const& environment) {
  return session::launched([&](char const* name) {
    auto const at = environment.find(name);
    return at == environment.end() ? nullptr : at->second.c_str();
  });
}
}  // namespace

TEST_CASE("each launcher is known by its names") {
  auto const open =
      with({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
  CHECK(open.by == "Open MPI");
  CHECK(open.rank == 3);
  CHECK(open.size == 4);
  CHECK(open.local_rank == 1);
  CHECK(with({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).by == "MPICH");
  auto const torch = with({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "1234"}});
  CHECK(torch.host == "10.0.0.1");
  CHECK(torch.port == 1235);
  CHECK(!torch.mpi);
  auto const slurm = with({{"SLURM_STEP_ID", "0"},
                           {"SLURM_PROCID", "5"},
                           {"SLURM_NTASKS", "8"},
                           {"SLURM_STEP_NODELIST", "gpu[003-007,9],cpu1"},
                           {"SLURM_JOB_ID", "5000"}});
  CHECK(slurm.rank == 5);
  CHECK(slurm.host == "gpu003");
  CHECK(slurm.port == 5000 % 4096 + 61440);
  CHECK(with({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_STEP_NODELIST", "n1,n2"}})
            .host == "n1");
}
TEST_CASE("an allocation's shell is no launch; nonsense is an error") {
  CHECK(with({}).by.empty());
  CHECK(with({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).by.empty());
  CHECK(with({{"RANK", "1"}}).by.empty());
  CHECK_THROWS_WITH_AS(with({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), doctest::Contains("RANK=x, which is no rank"),
                       Error);
  CHECK_THROWS_WITH_AS(with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), doctest::Contains("rank 2 of 2"), Error);
}
