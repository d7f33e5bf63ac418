// cli/command.cpp - the command line of `run` is read as it was given; what does not fit the launch or the plan is refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;
using namespace cleave::session;

namespace {

struct Read {
  bool trains = false;
  Command command;
  Apart apart;
};
Read read(std::vector<std::string> words, bool served = false) {
  words.insert(words.begin(), "mine");
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  Read r;
  r.trains = read_command(static_cast<int>(argv.size()), argv.data(), {"mine", "MNIST", "host, cuda", 6, 9},
                          served ? &r.apart : nullptr, r.command);
  return r;
}

}  // namespace

TEST_CASE("without options a command has the plan's defaults") {
  Read const r = read({});
  CHECK(r.trains);
  Command const& c = r.command;
  CHECK(c.program == "mine");
  CHECK(c.out == "out/mine");
  CHECK(c.ranks == 6);
  CHECK(c.epochs == 9);
  CHECK(c.backend == "host");
  CHECK(c.trace_steps == 5);
  CHECK((!c.json && !c.plan_only && c.resume.empty() && c.limit == 0 && c.seed == 1));
}
TEST_CASE("every option lands in its own member") {
  Command const c = read({"--data",
                          "d",
                          "--ranks",
                          "2",
                          "--epochs",
                          "3",
                          "--seed",
                          "4",
                          "--limit",
                          "5",
                          "--out",
                          "o",
                          "--resume",
                          "auto",
                          "--save-every",
                          "7steps",
                          "--backend",
                          "cuda",
                          "--json",
                          "--trace",
                          "t",
                          "--trace-steps",
                          "8",
                          "--plan"})
                        .command;
  CHECK(c.data == "d");
  CHECK(c.ranks == 2);
  CHECK(c.epochs == 3);
  CHECK(c.seed == 4);
  CHECK(c.limit == 5);
  CHECK(c.out == "o");
  CHECK(c.resume == "auto");
  CHECK(c.save_every == "7steps");
  CHECK(c.backend == "cuda");
  CHECK(c.trace == "t");
  CHECK(c.trace_steps == 8);
  CHECK((c.json && c.plan_only));
}
TEST_CASE("options of processes around a server stay valid with the command, and are unknown to other plans") {
  Read const r = read({"--serve", "29500", "--container", "a"}, true);
  CHECK(r.apart.serves());
  CHECK(*r.apart.serve == 29500);
  CHECK(*r.apart.container == "a");
  CHECK_THROWS_AS(read({"--serve", "29500"}), Error);
}
TEST_CASE("ranks that are no multiple of the ways, or not those of the launcher, are refused") {
  place::DeviceMesh mesh{0, 2};
  CHECK(mesh_of(6, mesh).replicas() == 3);
  CHECK_THROWS_WITH_AS(mesh_of(5, mesh),
                       "--ranks 5: this plan splits layers over 2 ways, so ranks must be a multiple of 2", Error);
  mesh.stages = 3;
  CHECK(mesh_of(12, mesh).world() == 12);
  CHECK_THROWS_WITH_AS(
      mesh_of(8, mesh),
      "--ranks 8: this plan splits the layers into 3 stages of 2 ways, so ranks must be a multiple of 6", Error);
  std::FILE* const say = std::fopen("/dev/null", "w");
  Command c;
  c.ranks = 4;
  Launch launch;
  launch.by = "Slurm";
  launch.size = 3;
  CHECK_THROWS_WITH_AS(check_launch(say, c, launch, 3, 1, false), doctest::Contains("Slurm has started 3 processes"),
                       Error);
  launch.size = 4;
  CHECK_THROWS_WITH_AS(check_launch(say, c, launch, 1, 1, false), doctest::Contains("each would train alone"), Error);
  CHECK_NOTHROW(check_launch(say, c, launch, 4, 1, false));
  CHECK_NOTHROW(check_launch(say, c, launch, 1, 1, true));
  c.ranks = 8;
  CHECK_NOTHROW(check_launch(say, c, launch, 1, 2, true));
  std::fclose(say);
}
