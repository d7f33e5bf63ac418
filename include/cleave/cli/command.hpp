// cli/command.hpp - the command line of `run`, read and checked; the plan on the ranks that it asks for, printed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "../io/arguments.hpp"
#include "../train/description.hpp"
#include "../train/launch.hpp"
#include "apart.hpp"
#include "save_every.hpp"

namespace cleave::session {

inline std::string program_name(char const* path) {
  std::string const p = path;
  return p.substr(p.find_last_of('/') + 1);
}

/// What the command line of `run` says.
struct Command {
  std::string program, data, out, resume, save_every, backend, trace;
  int ranks = 1, epochs = 1, seed = 1, limit = 0, trace_steps = 5;
  bool json = false, plan_only = false;
  std::shared_ptr<void> options;  // what `apart` refers to
};
/// Defaults of a plan, and words of its help.
struct CommandDefaults {
  std::string program, data_name, backends;
  int ranks = 1, epochs = 3;
};
/// Reads it. False if it has asked for help and got it. `apart`: options of a plan whose replicas may be elsewhere.
template <class = void>
bool read_command(int argc, char** argv, CommandDefaults const& defaults, Apart* apart, Command& c) {
  auto const options = std::make_shared<io::Options>(defaults.program, "trains on " + defaults.data_name);
  io::Options& o = *options;
  std::string const& data = o.text("data", "", "folder of the data set");
  int const& ranks = o.number("ranks", defaults.ranks, 1, 4096,
                              "ranks, as threads or as the processes there are; a multiple of the plan's ways");
  int const& epochs = o.number("epochs", defaults.epochs, 1, 1000000, "passes over the data");
  int const& seed = o.number("seed", 1, 0, 2147483647, "of weights, shuffling, dropout");
  int const& limit = o.number("limit", 0, 0, 2147483647, "train on the first so many images only; 0: all");
  std::string const& out = o.text("out", "out/" + defaults.program, "folder for what is written");
  std::string const& resume =
      o.text("resume", "", "checkpoint to go on from; auto: the newest good one in the folder of --out, if any");
  std::string const& save_every = o.text("save-every", SaveEvery::standard, SaveEvery::help);
  std::string const& backend = o.text("backend", "host", "where kernels run: " + defaults.backends);
  bool const& json = o.flag("json", "the last line of the output is one JSON object");
  std::string const& trace =
      o.text("trace", "", "file for a trace of the first steps, which Perfetto and chrome://tracing show");
  int const& trace_steps = o.number("trace-steps", 5, 1, 1000, "so many steps are traced");
  bool const& plan_only = o.flag("plan", "print the plan and do nothing");
  if (apart) apart->offer(o);
  if (!o.parse(argc, argv)) return false;
  c = {defaults.program, data, out,   resume,      save_every, backend,   trace,  ranks,
       epochs,           seed, limit, trace_steps, json,       plan_only, options};
  return true;
}
/// Throws Error if the processes that a launcher has started cannot train this plan together.
template <class = void>
void check_launch(std::FILE* say, Command const& c, Launch const& launch, int processes, int ranks_each, bool served) {
  std::fprintf(say, "started by %s: %d processes%s\n", launch.by.c_str(), launch.size,
               processes > 1 ? ", over MPI" : "");
  if (c.ranks != launch.size * ranks_each) {
    throw Error("--ranks " + std::to_string(c.ranks) + ", but " + launch.by + " has started " +
                std::to_string(launch.size) + " processes; say the same number, or leave it out");
  }
  if (processes == 1 && !served) {
    throw Error(
        launch.by + " has started " + std::to_string(launch.size) +
        " processes, and each would train alone: build with cleave::mpi and start by mpirun or srun, or run one "
        "process with --ranks " +
        std::to_string(launch.size));
  }
}
/// Prints the plan on a mesh: a line of its numbers, then its listing and summary.
template <class = void>
void print_plan(std::FILE* say, Description const& plan, schedule::Ranks mesh, std::string_view products_by,
                std::string const& listing) {
  int const rounds = plan.request.rounds;
  std::fprintf(
      say, "plan on %d ranks (%d replicas x %d ways), batch %d in %d micro-batches%s, %s, %s, products by %s\n%s",
      mesh.world(), mesh.replicas(), mesh.ways(), plan.batch, plan.request.micro_batches,
      rounds > 1 ? (" and " + std::to_string(rounds) + " rounds").c_str() : "", std::string(plan.number).c_str(),
      plan.program.format.ordered ? "ordered sums" : "fastest sums", std::string(products_by).c_str(), listing.c_str());
}
/// The mesh of so many ranks; an Error unless the ways divide them.
template <class = void> schedule::Ranks mesh_of(int ranks, int ways) {
  if (ranks % ways != 0) {
    throw Error("--ranks " + std::to_string(ranks) + ": this plan splits layers over " + std::to_string(ways) +
                " ways, so ranks must be a multiple of " + std::to_string(ways));
  }
  return {ranks / ways, ways};
}

}  // namespace cleave::session
