// cli/command.hpp - the command line of `run`, read and checked; the plan on the ranks that it asks for, printed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "../backend/host/communication/cores.hpp"
#include "../io/arguments.hpp"
#include "../report/trace.hpp"
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
[[gnu::cold]] bool read_command(int argc, char** argv, CommandDefaults const& defaults, Apart* apart, Command& c) {
  auto const options = std::make_shared<io::Options>(defaults.program, "trains on " + defaults.data_name);
  io::Options& o = *options;
  std::string const& data = o.text("data", "", "folder of the data set");
  int const& ranks = o.number("ranks", defaults.ranks, 1, 4096,
                              "ranks, a multiple of the plan's ways: threads, or of several processes as many each");
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
  int const threads = processes > 1 && !served && c.backend == "host" ? c.ranks / processes : 1;
  std::fprintf(say, "started by %s: %d processes%s%s\n", launch.by.c_str(), launch.size,
               processes > 1 ? ", over MPI" : "",
               threads > 1 ? (", each with " + std::to_string(threads) + " ranks as threads").c_str() : "");
  if (c.ranks != launch.size * ranks_each * threads) {
    throw Error({"--ranks ", c.ranks, ", but ", launch.by, " has started ", launch.size, " processes; say ",
                 c.backend == "host" && !served && processes > 1 ? "a multiple of " : "", launch.size * ranks_each,
                 ", or leave it out"});
  }
  int const cores = backend::host::cores(), all = static_cast<int>(std::thread::hardware_concurrency());
  if (threads > cores && cores < all) {
    std::fprintf(say, "the %d ranks of a process share %d of %d cores: tell %s to bind processes to more, or to none\n",
                 threads, cores, all, launch.by.c_str());
  }
  if (processes == 1 && !served) {
    throw Error(
        {launch.by, " has started ", launch.size,
         " processes, and each would train alone: build with cleave::mpi and start by mpirun or srun, or run one ",
         "process with --ranks ", launch.size});
  }
}
/// Prints the plan on a mesh: a line of its numbers, then its listing and summary.
template <class = void>
void print_plan(std::FILE* say, Description const& plan, schedule::Ranks mesh, std::string_view products_by,
                std::string const& listing) {
  int const rounds = plan.request.rounds;
  std::fprintf(
      say, "plan on %d ranks (%d replicas x %s%s ways), batch %d in %d micro-batches%s, %s, %s, products by %s\n%s",
      mesh.world(), mesh.replicas(), mesh.stages > 1 ? (std::to_string(mesh.stages) + " stages x ").c_str() : "",
      schedule::text::ways(mesh).c_str(), plan.batch, plan.request.micro_batches,
      rounds > 1 ? (" and " + std::to_string(rounds) + " rounds").c_str() : "", std::string(plan.number).c_str(),
      plan.program.format.ordered ? "ordered sums" : "fastest sums", std::string(products_by).c_str(), listing.c_str());
}
/// A plan's mesh of so many ranks; an Error unless they are whole replicas.
template <class = void> schedule::Ranks mesh_of(int ranks, place::DeviceMesh const& mesh) {
  int const each = mesh.ranks_of_replica();
  if (ranks % each != 0) {
    std::string const split = mesh.stages > 1 ? "splits the layers into " + std::to_string(mesh.stages) + " stages of "
                                              : std::string("splits layers over ");
    throw Error(
        {"--ranks ", ranks, ": this plan ", split, mesh.ways(), " ways, so ranks must be a multiple of ", each});
  }
  return mesh.with_replicas(ranks / each);
}

/// Throws Error unless a program that has these backends, besides the host, has the one of that name.
template <class = void> void check_built_for(std::string const& name, std::initializer_list<std::string_view> built) {
  if (name == "host" || std::find(built.begin(), built.end(), name) != built.end()) return;
  std::string here = "host";
  for (std::string_view const b : built) meta::append(here, {" or ", b});
  throw Error({"--backend ", name, ": this program has ", here,
               name == "cuda" ? "; for CUDA link cleave::cuda and compile the source as CUDA, or say nvcc -std=c++20 "
                                "-x cu -DCLEAVE_CUDA"
                              : ""});
}

/// Which of how many processes this is; of a launcher, or of MPI.
struct RankOf {
  int rank = 0, size = 1;
};
/// What a run is asked to do: its command line, read and checked against the plan and the launcher.
struct Asked {
  Command command;
  Apart apart;
  SaveEvery save_every;
  bool leads = true, apart_by_hand = false;  // leads: this process prints and writes
  std::FILE* say = stdout;
  schedule::Ranks mesh;
};
/// Null if help was asked for and given. Throws Error. `mpi` is this process among those of MPI.
template <class = void>
std::shared_ptr<Asked> asked_of(int argc, char** argv, CommandDefaults const& defaults,
                                std::initializer_list<std::string_view> backends, Description const& plan,
                                Launch const& launch, RankOf mpi) {
  auto a = std::make_shared<Asked>();
  bool const served = plan.program.served;
  int const ways = plan.program.mesh.ways();
  Command& c = a->command;
  if (!read_command(argc, argv, defaults, served ? &a->apart : nullptr, c)) return nullptr;
  check_built_for(c.backend, backends);
  a->save_every = SaveEvery::of(c.save_every);
  a->leads = mpi.rank == 0 && (mpi.size > 1 || launch.rank == 0);
  a->say = !a->leads ? std::fopen("/dev/null", "w") : c.json ? stderr : stdout;
  a->apart_by_hand = a->apart.serves() || a->apart.joins();
  if (launch.size > 1 && !a->apart_by_hand) check_launch(a->say, c, launch, mpi.size, served ? ways : 1, served);
  a->mesh = mesh_of(c.ranks, plan.program.mesh);
  return a;
}

/// Throws Error for a trace or a checkpoint that is asked of a process that has none: a server, or a client.
template <class = void> void check_part(Asked const& a) {
  Command const& c = a.command;
  if (!c.trace.empty() && (a.apart.serves() || (a.apart.joins() && *a.apart.replica < 0))) {
    throw Error({"--trace ", c.trace, ": ", a.apart.serves() ? "a server" : "a client without --replica",
                 " makes no steps; say it to the replicas"});
  }
  if (!a.apart.serves() && a.apart.joins() && !c.resume.empty() && c.resume != "auto") {
    throw Error({"--resume ", c.resume, ": a client's weights are the server's; say --resume to the server"});
  }
}
/// The trace that was asked of this process.
template <class = void> Tracing tracing_of(Asked const& a, Launch const& launch, RankOf mpi, bool served) {
  std::string const& path = a.command.trace;
  if (path.empty()) return {};
  bool const a_client = a.apart.joins() && a.apart_by_hand, by_launcher = served && launch.size > 1;
  RankOf const at = a_client      ? RankOf{*a.apart.replica, a.mesh.replicas()}
                    : by_launcher ? RankOf{launch.rank, launch.size}
                                  : mpi;
  return {trace_path(path, at.rank, at.size), a.command.trace_steps};
}

}  // namespace cleave::session
