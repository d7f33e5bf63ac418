// train/launch.cpp - each launcher's names, and what is no launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cleave/train/launch.hpp"

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
  CHECK(torch.by == "a launcher that sets RANK and WORLD_SIZE");
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
  CHECK_THROWS_WITH_AS(with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
                       doctest::Contains("a launcher that sets RANK and WORLD_SIZE says rank 2 of 2; ranks"), Error);
}
TEST_CASE("a job id may be as large as Slurm makes them") {
  auto const port = [](char const* job) {
    return with({{"SLURM_STEP_ID", "0"},
                 {"SLURM_PROCID", "0"},
                 {"SLURM_NTASKS", "2"},
                 {"SLURM_STEP_NODELIST", "n1"},
                 {"SLURM_JOB_ID", job}})
        .port;
  };
  for (long const job : {1'000'001L, 67'108'864L, 4'294'967'294L})
    CHECK(port(std::to_string(job).c_str()) == job % 4096 + 61440);
  CHECK_THROWS_WITH_AS(port("12_3"), doctest::Contains("SLURM_JOB_ID=12_3, which is no job id"), Error);
  CHECK_THROWS_WITH_AS(port("99999999999999999999"), doctest::Contains("no job id"), Error);
}
TEST_CASE("numbers of the environment are held to their ranges") {
  auto const told = [](std::map<std::string, std::string> more) {
    more.insert({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}});
    try {
      return std::to_string(with(more).port);
    } catch (Error const& e) {
      return std::string(e.what());
    }
  };
  CHECK(told({}) == "29501");
  CHECK(told({{"MASTER_PORT", "65534"}}) == "65535");
  for (char const* const port : {"0", "65535", "65536", "70000", "-1", "", " 80", "+80", "80 ", "8e1"}) {
    CAPTURE(port);
    CHECK(told({{"MASTER_PORT", port}}) == "the environment says MASTER_PORT=" + std::string(port) +
                                               ", which is no port with another above it: those are from 1 to 65534");
  }
  CHECK(
      told({{"WORLD_SIZE", "0"}}).find("WORLD_SIZE=0, which is no number of processes: those are from 1 to 1000000") !=
      std::string::npos);
  CHECK(told({{"LOCAL_RANK", "1000001"}}).find("no rank") != std::string::npos);
  CHECK(told({{"RANK", "18446744073709551616"}}).find("no rank") != std::string::npos);
}
