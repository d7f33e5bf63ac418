// run/by_portions.hpp - `run<Sandblaster<Train>, Mnist>(argc, argv)`: the command line of L-BFGS over the whole batch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>

#include "helpers.hpp"
#include "run.hpp"
#include "sandblaster.hpp"

namespace cleave::session {

/// Iterations, with the files that they leave: loss.svg, metrics.jsonl, checkpoint.safetensors.
template <class S, class Data>
int iterate(S& trainer, Job const& job, std::string const& resume, Batches& batches, Batches& test, long held_out) {
  if (!resume.empty()) load(trainer, resume);
  io::make_folder(job.out);
  io::Series losses{"loss", {}, {}};
  std::string metrics;
  auto const begin = std::chrono::steady_clock::now();
  auto const elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  while (trainer.iterations() < job.epochs && !trainer.converged()) {
    double const loss = trainer.step(batches.feed());
    losses.x.push_back(static_cast<double>(trainer.iterations()));
    losses.y.push_back(loss);
    metrics +=
        io::JsonLine().add("step", trainer.iterations()).add("loss", loss).add("seconds", elapsed()).text() + "\n";
    std::fprintf(job.say, "iteration %ld: loss %.4f, %d gradients, %ld portions issued again so far\n",
                 trainer.iterations(), loss, trainer.coordinator().trials, trainer.ledger().again);
    std::fflush(job.say);
  }
  double const seconds = elapsed(), accuracy = trainer.accuracy(test.feed(), held_out);
  auto const done = trainer.ledger();
  std::fprintf(job.say, "held-out accuracy %.2f %% of %ld images; %.1f s for %ld iterations%s\n", 100 * accuracy,
               held_out, seconds, trainer.iterations(), trainer.converged() ? ", and nothing lower was found" : "");
  std::fprintf(job.say, "%ld portions issued, %ld of them again, %ld results dropped; sent: gradients %s, weights %s\n",
               done.issued, done.again, done.dropped, schedule::text::grouped(done.gradients_sent).c_str(),
               schedule::text::grouped(done.weights_sent).c_str());
  std::string const curve = job.out + "/loss.svg", lines = job.out + "/metrics.jsonl",
                    checkpoint = job.out + "/checkpoint.safetensors";
  if (!losses.x.empty()) {
    io::write_line_chart(curve, {job.program + ": loss", "iteration", "loss"}, {losses});
    io::write_file(lines, io::Bytes(reinterpret_cast<unsigned char const*>(metrics.data()), metrics.size()));
  }
  save(trainer, checkpoint, job.seed);
  std::fprintf(job.say, "wrote %s, %s, %s\n", curve.c_str(), lines.c_str(), checkpoint.c_str());
  io::JsonLine line;
  line.add("accuracy", accuracy)
      .add("loss", trainer.loss())
      .add("seconds", seconds)
      .add("elements_sent", done.gradients_sent + done.weights_sent)
      .add("ranks", job.ranks)
      .add("steps", trainer.iterations())
      .add("issued_again", done.again)
      .add("dropped", done.dropped);
  if (job.json) std::printf("%s\n", line.text().c_str());
  return 0;
}

/// Started by a launcher, rank 0 is the coordinator, with the shards and a replica of its own, and the others help.
template <class S, class Data, class... Backends>
int train_by_portions(int argc, char** argv, Launch const& launch, backend::mpi::Process const& process) {
  using P = typename S::plan;
  std::string const program = program_name(argv[0]);
  io::Options o(program, "trains on " + std::string(Data::name) + " by Sandblaster L-BFGS");
  std::string const& data = o.text("data", "", "folder of the data set");
  int const& ranks = o.number(
      "ranks", launch.size > 1 ? launch.size : std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 64),
      1, 64, "replicas, as threads or as the processes there are");
  int const& epochs = o.number("epochs", 40, 1, 1000000, "iterations, each over the whole batch");
  int const& seed_given = o.number("seed", 1, 0, 2147483647, "of weights and shuffling");
  int const& limit = o.number("limit", 0, 0, 2147483647, "train on the first so many images only; 0: all");
  std::string const& out = o.text("out", "out/" + program, "folder for what is written");
  std::string const& resume = o.text("resume", "", "checkpoint whose weights to go on from");
  std::string const& backend = offer_backend<Backends...>(o);
  bool const& json = o.flag("json", "the last line of the output is one JSON object");
  bool const& plan_only = o.flag("plan", "print the plan and do nothing");
  if (!o.parse(argc, argv)) return 0;
  check_backend<Backends...>(backend);
  std::FILE* const say = launch.rank > 0 ? std::fopen("/dev/null", "w") : json ? stderr : stdout;
  if (launch.size > 1) {
    std::fprintf(say, "started by %s: %d processes%s\n", launch.by.c_str(), launch.size,
                 process.size() > 1 ? ", over MPI" : "");
    says_where(launch, process);
    if (ranks != launch.size) {
      throw Error("--ranks " + std::to_string(ranks) + ", but " + launch.by + " has started " +
                  std::to_string(launch.size) + " processes; say the same number, or leave it out");
    }
  }
  std::fprintf(say, "%s", schedule::listing<P>({1, 1}).c_str());
  if (plan_only) return 0;

  Sets const sets = read_for<P, Data>(say, data, limit);
  io::Images const &training = sets.training, &held_out = sets.held_out;
  Scaling const scaling = Scaling::of(training);
  std::uint64_t const seed = resume.empty() ? static_cast<std::uint64_t>(seed_given) : saved_seed(resume);
  Batches batches(training, scaling, P::batch, seed, true), test(held_out, scaling, P::batch, seed, false);
  batches.shuffle(0);  // once: the function that is made small stays the same
  int const portions = static_cast<int>(batches.steps_per_epoch());

  std::uint64_t const data_number = seed << 32 ^ static_cast<std::uint64_t>(training.count);
  auto const by = [&]<class Ranks>(Ranks*) {
    if (launch.rank > 0) {
      std::string const at = meeting_point(launch, process, 0);
      help<P, Ranks>(backend::tcp::Address::of(at), ranks, data_number, seed, batches.feed());
      return 0;
    }
    Hands<P> hands = near<P, Ranks>(launch.size > 1 ? 1 : ranks, seed);
    if (launch.size > 1) {
      auto const door = backend::tcp::Socket::listen_on(process.size() > 1 ? 0 : launch.port);
      meeting_point(launch, process, door.port());
      for (auto& far : gather<P>(door, ranks - 1, ranks, data_number, std::chrono::seconds(60)))
        hands.push_back(std::move(far));
    }
    S trainer(std::move(hands), portions, seed);
    std::fprintf(say,
                 "%d portions of %d images, %d replicas, %d shards, %ld weights; the coordinator holds %zu bytes\n",
                 portions, P::batch, ranks, P::shards, P::schedule.weight_elements, sizeof(trainer.coordinator()));
    Job const job{program, out, ranks, epochs, seed, json, true, say};
    return iterate<S, Data>(trainer, job, resume, batches, test, held_out.count);
  };
  if (backend == "host") return by(static_cast<ThreadRanks<P>*>(nullptr));
  return on<Backends...>(backend, [&]<class B>(B*) {
    if constexpr (requires { B::pick(0); }) B::pick(launch.local_rank);
    std::fprintf(say, "gradients on %s\n", typename B::Machine().title().c_str());
    return by(static_cast<DeviceRanks<P, typename B::Machine>*>(nullptr));
  });
}

}  // namespace cleave::session
