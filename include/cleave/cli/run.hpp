// cli/run.hpp - `int main(int argc, char** argv) { return run<Train, Cifar10>(argc, argv); }`: the command line of a plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdio>
#include <thread>

#include "../backend/mpi/process.hpp"
#include "../parameter_server/served.hpp"
#include "../report/words.hpp"
#include "../train/laws.hpp"
#include "../train/sent_whole.hpp"
#include "apart.hpp"
#include "command.hpp"
#include "fit.hpp"
#include "join.hpp"
#ifdef CLEAVE_CUDA  // cleave::cuda says so to sources that are compiled as CUDA
#include "../train/cuda.hpp"
#endif

namespace cleave {

// These come with a device: cuda.hpp, emulated.hpp.
template <class P, class Machine, class Link> class DeviceTrainer;
namespace session {
template <class P, class Machine> class DeviceRanks;

/// As many ranks as the plan fixes, else as this machine has cores, in whole replicas.
template <class P> int default_ranks() { return P::request.mesh.ranks_of_replica() * default_replicas<P>(); }

/// As many as the plan fixes, if the processes can share them; else one in each, or, around a server, a replica.
template <class P> int ranks_of_processes(int processes, bool over_mpi) {
  int const fixed = P::replicas * P::request.mesh.ranks_of_replica();
  if (P::served) return processes * P::request.mesh.ranks_of_replica();
  return over_mpi && fixed > 0 && fixed % processes == 0 ? fixed : processes;
}

template <class P> auto make_trainer(int replicas, std::uint64_t seed, [[maybe_unused]] backend::host::Remote* remote) {
  if constexpr (P::served) {
    return Served<P>(replicas, seed);
  } else {
    return Trainer<P>(replicas, seed, remote);
  }
}

/// For the help of the command line.
template <class... Backends> std::string backend_names() {
  return "host" + (std::string() + ... + (std::string(", ") + Backends::name));
}
/// f(backend) for the one of that name.
template <class... Backends, class F> int on([[maybe_unused]] std::string const& name, [[maybe_unused]] F f) {
  int code = 0;
  [[maybe_unused]] bool const known =
      ((name == Backends::name && (code = f(static_cast<Backends*>(nullptr)), true)) || ... || false);
  return code;
}

/// A replica may be made slow by the plan.
template <class Trained> void slow_down([[maybe_unused]] Trained& trainer) {
  using P = typename Trained::plan;
  if constexpr (requires { P::delay(0, 0L); }) {
    static_assert(P::served, "delay: only replicas around a server can be slow one by one; say Shards<1>");
    trainer.before_push = [](int replica, long step, int shard) {
      if (shard == 0) P::delay(replica, step);
    };
  }
}

/// Ranks that sum by collectives: streams of one device, or, where processes can be linked, a device each.
template <class P, class B, class Go>
int collect_on(Job const& job, int replicas, Launch const& launch, backend::mpi::Process const& process, Go go) {
  auto machine = std::make_unique<typename B::Machine>();
  if constexpr (requires { B::connect(*process.remote(), 1); }) {
    if (process.size() > 1) {
      auto link = B::connect(*process.remote(), process.size());
      std::fprintf(job.say, "on %s, and %d more\n", machine->title().c_str(), process.size() - 1);
      using Link = typename decltype(link)::element_type;
      return go(std::make_unique<DeviceTrainer<P, typename B::Machine, Link>>(replicas, job.seed, std::move(machine),
                                                                              std::move(link)));
    }
  }
  if (process.size() > 1 && launch.size > 1) {
    throw Error({"--backend ", B::name,
                 ": this program has no way between the devices of several processes; build with cleave::nccl, or "
                 "run one process, whose ranks share a device"});
  }
  std::fprintf(job.say, "on %s\n", machine->title().c_str());
  return go(std::make_unique<DeviceTrainer<P, typename B::Machine, typename B::Link>>(replicas, job.seed,
                                                                                      std::move(machine)));
}

/// On a device that the program was built for; `B` names it, its machine, and how processes with one each connect.
template <class P, class Data, class B, class Set>
int train_on(Job const& job, std::string const& resume, int replicas, Sets<Set> const& sets, Launch const& launch,
             backend::mpi::Process const& process) {
  if constexpr (!stays_on_host<P>().empty()) {
    throw Error({"--backend ", B::name, ": this plan has ", stays_on_host<P>(), ", which run on the host only"});
  } else {
    auto const go = [&](auto trainer) {
      if constexpr (requires { trainer->machine().listing(); }) {
        std::fputs(trainer->machine().listing().c_str(), job.say);
      }
      if (!resume.empty()) session::load(*trainer, resume);
      slow_down(*trainer);
      return fit<P, Data>(*trainer, job, sets);
    };
    if constexpr (requires { B::pick(0); }) B::pick(launch.local_rank);
    if constexpr (P::served) {
      auto trainer = std::make_unique<Served<P, DeviceRanks<P, typename B::Machine>>>(replicas, job.seed);
      std::fprintf(job.say, "gradients on %s\n", typename B::Machine().title().c_str());
      return go(std::move(trainer));
    } else {
      return collect_on<P, B>(job, replicas, launch, process, go);
    }
  }
}

template <class P> constexpr int default_epochs() {
  if constexpr (requires { P::epochs; }) {
    return P::epochs;
  } else {
    return 3;
  }
}

/// A resumed run has the seed of its checkpoint.
template <class = void>
Job job_of(Asked const& a, std::string const& resume, Tracing const& tracing, PlanFacts const& plan) {
  Command const& c = a.command;
  std::uint64_t const seed = resume.empty() ? static_cast<std::uint64_t>(c.seed) : session::saved_seed(resume);
  return {c.program, c.out, c.ranks, c.epochs, seed, c.json, a.leads, a.say, tracing, a.save_every, plan};
}

template <class P, class Data, class... Backends>
int train(int argc, char** argv, Launch const& launch, backend::mpi::Process const& process) {
  RankOf const mpi{process.rank(), process.size()};
  auto const asked = asked_of(
      argc, argv,
      {program_name(argv[0]), std::string(Data::name), backend_names<Backends...>(),
       launch.size > 1 ? ranks_of_processes<P>(launch.size, mpi.size > 1) : default_ranks<P>(), default_epochs<P>()},
      {Backends::name...}, description<P>, launch, mpi);
  if (!asked) return 0;
  Command const& c = asked->command;
  Apart& apart = asked->apart;
  SaveEvery const& save_every = asked->save_every;
  std::FILE* const say = asked->say;
  schedule::Ranks const mesh = asked->mesh;
  auto const facts = [&]<class Q>(meta::type<Q>) {
    return plan_facts(schedule::listing<Q>(mesh) + schedule::summary<Q>(mesh), schedule::program<Q>,
                      Q::request_of(mesh.replicas()), Q::ranks_of(mesh.replicas()));
  };
  bool const on_device = c.backend != "host" && !P::served;
  PlanFacts const plan = on_device ? facts(meta::type<sent_whole_t<P>>{}) : facts(meta::type<P>{});
  print_plan(say, description<P>, mesh,
             backend::host::by_library<typename P::number> ? backend::host::products_by : "own kernels", plan.text);
  if (c.plan_only) return 0;
  if (int const other = process.stranger(fingerprint<P>(mesh.replicas())); other >= 0) {
    throw Error({"rank ", other, " runs another plan, schedule or version than rank 0"});
  }
  if constexpr (P::served) {
    check_part(*asked);
    if (apart.serves())
      return serve<P>(say, apart, mesh.replicas(), static_cast<std::uint64_t>(c.seed), c.out, c.resume, save_every);
  }

  Tracing const tracing = tracing_of(*asked, launch, mpi, P::served);
  bool const server_resumes = P::served && (apart.joins() || launch.size > 1);  // clients have its weights
  std::string const resume =
      server_resumes ? "" : resume_path(description<P>, c.resume, c.out, say, asked->leads, process);
  StopSignals const signals;
  auto const sets = read_for<P, Data>(say, c.data, c.limit, resume);
  if (tracing) check_trace(tracing.path);

  if constexpr (P::served) {
    Host<P> host;
    if (launch.size > 1 && !asked->apart_by_hand)
      host.start(apart, launch, process, mesh.replicas(), static_cast<std::uint64_t>(c.seed), say, c.out, c.resume);
    if (apart.joins()) {
      auto const join_by = [&]<class Ranks>(Ranks*) {
        return join<P, Data, Ranks>(say, apart, host, mesh.replicas(), static_cast<std::uint64_t>(c.seed), c.epochs,
                                    sets, tracing, c.out, save_every, c.json,
                                    [&](bool mine) { return process.stranger(mine ? 1 : 0) >= 0 || mine; });
      };
      if (c.backend == "host") return host.finish(join_by(static_cast<ThreadRanks<P>*>(nullptr)));
      return host.finish(on<Backends...>(c.backend, [&]<class B>(B*) {
        if constexpr (requires { B::pick(0); }) B::pick(launch.local_rank);
        return join_by(static_cast<DeviceRanks<P, typename B::Machine>*>(nullptr));
      }));
    }
  }
  if (!resume.empty()) tell_other_settings(say, description<P>, resume);
  Job const job = job_of(*asked, resume, tracing, plan);
  if (c.backend != "host") {
    return on<Backends...>(c.backend, [&]<class B>(B*) {
      return train_on<P, Data, B>(job, resume, mesh.replicas(), sets, launch, process);
    });
  }
  auto trainer = make_trainer<P>(mesh.replicas(), job.seed, process.remote());
  if (!resume.empty()) session::load(trainer, resume);
  slow_down(trainer);
  return fit<P, Data>(trainer, job, sets);
}

/// A plan whose optimizer looks at the whole batch: by_portions.hpp.
template <class S, class Data, class... Backends>
int train_by_portions(int argc, char** argv, Launch const& launch, backend::mpi::Process const& process);

/// What `run` does with a plan that is legal.
template <class P, class Data, class... Backends> int run_plan(int argc, char** argv) {
  auto const tell = [&](char const* who, std::exception const& e, int code) {
    session::tell(argv[0], who, e);
    return code;
  };
  try {
    Launch const launch = launched();
    backend::mpi::Process process(backend::mpi::Process::has_mpi && launch.mpi && launch.size > 1);
    auto const fails = [&](std::exception const& e, int code) {
      char who[32] = "";
      if (process.size() > 1) std::snprintf(who, sizeof who, "rank %d: ", process.rank());
      tell(who, e, code);
      process.abort(code);
      return code;
    };
    try {
      if constexpr (requires { typename P::plan; }) {
#ifdef CLEAVE_CUDA
        return train_by_portions<P, Data, Backends..., Cuda>(argc, argv, launch, process);
      } else {
        return train<P, Data, Backends..., Cuda>(argc, argv, launch, process);
#else
        return train_by_portions<P, Data, Backends...>(argc, argv, launch, process);
      } else {
        return train<P, Data, Backends...>(argc, argv, launch, process);
#endif
      }
    } catch (Diverged const& e) {
      return fails(e, ExitCode::diverged);
    } catch (std::exception const& e) {
      return fails(e, ExitCode::error);
    }
  } catch (std::exception const& e) {
    return tell("", e, ExitCode::error);
  }
}

}  // namespace session

/// Trains plan P (or `Sandblaster<P>`) on Data: Mnist, Cifar10, or your own class with `name` and `read`, which gives
/// io::Images or io::Samples, and if wanted `variation` (of pictures) and `inputs` (batches.hpp, data.hpp).
/// Returns the exit code: 0; 2 after one line on stderr that says what to mend; 3 where training has diverged; 75 where
/// a signal has stopped it and it is saved (stop.hpp, docs/checkpoints.md).
///
/// `Backends` are further devices that --backend may name (emulated.hpp); Cuda is one wherever it can be.
template <class P, class Data, class... Backends> int run([[maybe_unused]] int argc, [[maybe_unused]] char** argv) {
  using law = session::law_of_a_run<P, Data>;
  static_assert(sizeof(law) > 0);
  if constexpr (meta::holds<law> && plan::legal<session::plan_of<P>>) {
    return session::run_plan<P, Data, Backends...>(argc, argv);
  } else {
    return 2;
  }
}

}  // namespace cleave
