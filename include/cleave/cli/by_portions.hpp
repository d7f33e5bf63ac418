// cli/by_portions.hpp - `run<Sandblaster<Train>, Mnist>(argc, argv)`: the command line of L-BFGS over the whole batch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>

#include "../backend/host/communication/cores.hpp"
#include "../parameter_server/helpers.hpp"
#include "../parameter_server/sandblaster.hpp"
#include "run.hpp"

namespace cleave::session {

/// Iterations until converged, stopped by a signal (then false) or done; saves as the job says. The loss over the whole
/// batch decides which weights are the best.
template <class S, class Set, class Elapsed>
bool iterate_on(S& trainer, Job const& job, Saver<S>& saver, Metrics& metrics, Batches<Set> const& batches,
                Elapsed elapsed) {
  double saved_at = elapsed();
  while (trainer.iterations() < job.epochs && !trainer.converged()) {
    if (StopSignals::received() != 0) return false;
    double const loss = trainer.step(batches.feed());
    long const now = trainer.iterations();
    metrics.add_loss(now, loss);
    metrics.add(io::JsonLine().add("step", now).add("loss", loss).add("seconds", elapsed()));
    std::fprintf(job.say, "iteration %ld: loss %.4f, %d gradients, %ld portions issued again so far\n", now, loss,
                 trainer.coordinator().trials, trainer.ledger().again);
    std::fflush(job.say);
    SaveEvery const& every = job.save_every;
    if (every.due(now - 1, now, 1, elapsed() - saved_at)) {  // an iteration is a step, and an epoch
      saver.save_now_and_then();
      saved_at = elapsed();
    }
    if (!every.never()) saver.save_if_best(loss);
  }
  return true;
}

/// Trains and tells; leaves loss.svg, metrics.jsonl, and what Saver does.
template <class S, class Set>
int iterate(S& trainer, Job const& job, std::string const& resume, Batches<Set> const& batches, Sets<Set> const& sets) {
  Batches const test(sets.held_out, sets.preprocessing.scaling, S::plan::batch, job.seed, false);
  if (!resume.empty()) {
    load(trainer, resume);
    std::fprintf(job.say, "resumed at iteration %ld of %d: %s\n", trainer.iterations(), job.epochs,
                 trainer.iterations() < job.epochs
                     ? (std::to_string(job.epochs - trainer.iterations()) + " are left").c_str()
                     : "none is left");
  }
  long const first = trainer.iterations();
  auto const begin = std::chrono::steady_clock::now();
  auto const elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  Saver<S> saver(trainer, job.program, job.out, job.seed, job.leads, !resume.empty());
  saver.files.preprocessing = &sets.preprocessing;
  Metrics metrics(job.program, job.out + "/metrics.jsonl", first, job.leads);
  bool stopped = false;
  try {
    stopped = !iterate_on(trainer, job, saver, metrics, batches, elapsed);
    if (trainer.iterations() > first) saver.save();
  } catch (Diverged const& e) {
    throw Diverged({e.what(), saver.told()});
  } catch (Error const& e) {
    throw Error({e.what(), saver.told()});
  }
  if (stopped) {
    std::fprintf(stderr, "%s: stopped by %s at iteration %ld of %d%s; go on with --resume auto\n", job.program.c_str(),
                 StopSignals::name_of(StopSignals::received()).c_str(), trainer.iterations(), job.epochs,
                 trainer.iterations() > first ? ("; saved " + saver.files.last).c_str() : saver.told().c_str());
    return ExitCode::stopped;
  }
  double const seconds = elapsed();
  auto const score = trainer.score(test.feed(), sets.held_out.count);
  auto const done = trainer.ledger();
  std::fprintf(job.say, "held-out %s of %d %s; %.1f s for %ld iterations%s\n", text_of(score).c_str(),
               sets.held_out.count, plural_of<Set>, seconds, trainer.iterations(),
               trainer.converged() ? ", and nothing lower was found" : "");
  std::fprintf(job.say, "%ld portions issued, %ld of them again, %ld results dropped; sent: gradients %s, weights %s\n",
               done.issued, done.again, done.dropped, schedule::text::grouped(done.gradients_sent).c_str(),
               schedule::text::grouped(done.weights_sent).c_str());
  std::string const curve = job.out + "/loss.svg";
  bool all = metrics.whole();
  if (trainer.iterations() > first) {
    bool const drawn = wrote(job.program, [&] {
      io::write_line_chart(curve, {job.program + ": loss", "iteration", "loss"}, {metrics.curves().losses});
    });
    all = all && drawn;
    std::fprintf(job.say, "wrote %s%s%s%s%s\n", saver.files.last.c_str(),
                 saver.has_best() ? (", " + saver.files.best).c_str() : "", metrics.whole() ? ", " : "",
                 metrics.whole() ? metrics.path().c_str() : "", drawn ? (", " + curve).c_str() : "");
  } else {
    std::fprintf(job.say, "nothing was written\n");
  }
  io::JsonLine line;
  add_score(line, score)
      .add("loss", trainer.loss())
      .add("seconds", seconds)
      .add("elements_sent", done.gradients_sent + done.weights_sent)
      .add("ranks", job.ranks)
      .add("steps", trainer.iterations())
      .add("issued_again", done.again)
      .add("dropped", done.dropped);
  if (job.json) std::printf("%s\n", line.text().c_str());
  return all ? 0 : ExitCode::error;
}

/// Started by a launcher, rank 0 is the coordinator, with the shards and a replica of its own, and the others help.
template <class S, class Data, class... Backends>
int train_by_portions(int argc, char** argv, Launch const& launch, backend::mpi::Process const& process) {
  using P = typename S::plan;
  std::string const program = program_name(argv[0]);
  io::Options o(program, "trains on " + std::string(Data::name) + " by Sandblaster L-BFGS");
  std::string const& data = o.text("data", "", "folder of the data set");
  constexpr int ways = P::request.mesh.ranks_of_replica();
  int const& ranks =
      o.number("ranks", ways * (launch.size > 1 ? launch.size : std::clamp(backend::host::cores() / ways, 1, 64)), 1,
               64 * ways, "ranks as threads; a replica has as many as the plan's ways, and a process is a replica");
  int const& epochs = o.number("epochs", 40, 1, 1000000, "iterations, each over the whole batch");
  int const& seed_given = o.number("seed", 1, 0, 2147483647, "of weights and shuffling");
  int const& limit = o.number("limit", 0, 0, 2147483647, "train on the first so many images only; 0: all");
  std::string const& out = o.text("out", "out/" + program, "folder for what is written");
  std::string const& resume_given =
      o.text("resume", "", "checkpoint whose weights to go on from; auto: the newest good one in --out, if any");
  std::string const& save_every_given = o.text("save-every", SaveEvery::standard, SaveEvery::help);
  std::string const& backend = o.text("backend", "host", "where kernels run: " + backend_names<Backends...>());
  bool const& json = o.flag("json", "the last line of the output is one JSON object");
  bool const& plan_only = o.flag("plan", "print the plan and do nothing");
  DoorOptions door_options;
  door_options.offer(o);
  if (!o.parse(argc, argv)) return 0;
  check_built_for(backend, {Backends::name...});
  SaveEvery const save_every = SaveEvery::of(save_every_given);
  std::FILE* const say = launch.rank > 0 ? std::fopen("/dev/null", "w") : json ? stderr : stdout;
  if (launch.size > 1) {
    std::fprintf(say, "started by %s: %d processes%s\n", launch.by.c_str(), launch.size,
                 process.size() > 1 ? ", over MPI" : "");
    says_where(launch, process);
    if (ranks != launch.size * ways) {
      throw Error({"--ranks ", ranks, ", but ", launch.by, " has started ", launch.size,
                   " processes, each a replica; say ", launch.size * ways, ", or leave it out"});
    }
  }
  int const replicas = mesh_of(ranks, P::request.mesh).replicas();
  std::fprintf(say, "%s", schedule::listing<P>(P::request.mesh.with_replicas(1)).c_str());
  if (plan_only) return 0;

  std::string const resume = resume_path(description<P>, resume_given, out, say, launch.rank == 0, process);
  StopSignals const signals;
  auto const sets = read_for<P, Data>(say, data, limit, resume);
  std::uint64_t const seed = resume.empty() ? static_cast<std::uint64_t>(seed_given) : saved_seed(resume);
  Batches batches(sets.training, sets.preprocessing.scaling, P::batch, seed, true);
  batches.shuffle(0);  // once: the function that is made small stays the same
  int const portions = static_cast<int>(batches.steps_per_epoch());

  std::uint64_t const data_number = seed << 32 ^ static_cast<std::uint64_t>(sets.training.count);
  auto const by = [&]<class Ranks>(Ranks*) {
    if (launch.rank > 0) {
      Meeting meeting(launch, process, door_options);
      std::string const at = meeting.tell(0);
      Helped const helped = help<P, Ranks>(backend::tcp::Address::of(at), replicas, data_number, seed, batches.feed(),
                                           std::chrono::seconds(60), meeting.token());
      // A helper that received a signal ends as stopped unless the coordinator has finished; any other is done.
      return StopSignals::received() != 0 && !helped.finished ? ExitCode::stopped : 0;
    }
    std::atomic<bool> finished{false};
    Hands<P> hands = near<P, Ranks>(launch.size > 1 ? 1 : replicas, seed);
    if (launch.size > 1) {
      Meeting meeting(launch, process, door_options);
      auto const door = open_door(meeting.door(), meeting.port());
      meeting.tell(door.port());
      for (auto& far :
           gather<P>(door, replicas - 1, replicas, data_number, std::chrono::seconds(60), meeting.token(), &finished))
        hands.push_back(std::move(far));
    }
    S trainer(std::move(hands), portions, seed);
    std::fprintf(
        say, "%d portions of %d samples, %d replicas, %d shards, %ld weights%s; the coordinator holds %zu bytes\n",
        portions, P::batch, replicas, serving<P>.shards(), P::schedule.weight_elements,
        ways > 1 ? (" on each of " + std::to_string(ways) + " ways").c_str() : "", sizeof(trainer.coordinator()));
    Job const job{program, out, ranks, epochs, seed, json, true, say, {}, save_every};
    int const code = iterate(trainer, job, resume, batches, sets);
    finished = code != ExitCode::stopped;
    return code;
  };
  if (backend == "host") return by(static_cast<ThreadRanks<P>*>(nullptr));
  return on<Backends...>(backend, [&]<class B>(B*) {
    if constexpr (requires { B::pick(0); }) B::pick(launch.local_rank);
    std::fprintf(say, "gradients on %s\n", typename B::Machine().title().c_str());
    return by(static_cast<DeviceRanks<P, typename B::Machine>*>(nullptr));
  });
}

}  // namespace cleave::session
