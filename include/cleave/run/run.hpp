// run/run.hpp - `int main(int argc, char** argv) { return run<Train, Cifar10>(argc, argv); }`: the command line of a plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdio>
#include <thread>

#include "../backend/mpi/process.hpp"
#include "../io/arguments.hpp"
#include "../io/chart.hpp"
#include "../io/json_line.hpp"
#include "../io/picture.hpp"
#include "../schedule/listing.hpp"
#include "apart.hpp"
#include "checkpoint.hpp"
#include "data.hpp"
#include "progress.hpp"
#include "served.hpp"

namespace cleave {

namespace session {

inline std::string program_name(char const* path) {
  std::string const p = path;
  return p.substr(p.find_last_of('/') + 1);
}

/// As many ranks as the plan fixes, else as this machine has cores, in whole replicas.
template <class P> int default_ranks() {
  int const cores = static_cast<int>(std::thread::hardware_concurrency());
  return P::ways * (P::replicas > 0 ? P::replicas : std::clamp(cores / P::ways, 1, P::micro_batches));
}

template <class P> auto make_trainer(int replicas, std::uint64_t seed, [[maybe_unused]] backend::host::Remote* remote) {
  if constexpr (P::served) {
    return Served<P>(replicas, seed);
  } else {
    return Trainer<P>(replicas, seed, remote);
  }
}

template <class P, class Data>
int train(int argc, char** argv, Launch const& launch, backend::mpi::Process const& process) {
  std::string const program = program_name(argv[0]);
  io::Options o(program, "trains on " + std::string(Data::name));
  std::string const& data = o.text("data", "", "folder of the data set");
  int const& ranks = o.number("ranks", launch.size > 1 ? launch.size : default_ranks<P>(), 1, 4096,
                              "ranks, as threads or as the processes there are; a multiple of the plan's ways");
  int const& epochs = o.number(
      "epochs",
      [] {
        if constexpr (requires { P::epochs; })
          return P::epochs;
        else
          return 3;
      }(),
      1, 1000000, "passes over the data");
  int const& seed_given = o.number("seed", 1, 0, 2147483647, "of weights, shuffling, dropout");
  int const& limit = o.number("limit", 0, 0, 2147483647, "train on the first so many images only; 0: all");
  std::string const& out = o.text("out", "out/" + program, "folder for what is written");
  std::string const& resume = o.text("resume", "", "checkpoint to go on from");
  bool const& json = o.flag("json", "the last line of the output is one JSON object");
  bool const& plan_only = o.flag("plan", "print the plan and do nothing");
  Apart apart;
  if constexpr (P::served) apart.offer(o);
  if (!o.parse(argc, argv)) return 0;
  bool const leads = process.rank() == 0 && (process.size() > 1 || launch.rank == 0);
  std::FILE* const say = !leads ? std::fopen("/dev/null", "w") : json ? stderr : stdout;
  bool const apart_by_hand = apart.serves() || apart.joins();
  if (launch.size > 1 && !apart_by_hand) {
    std::fprintf(say, "started by %s: %d processes%s\n", launch.by.c_str(), launch.size,
                 process.size() > 1 ? ", over MPI" : "");
    if (ranks != launch.size * (P::served ? P::ways : 1)) {
      throw Error("--ranks " + std::to_string(ranks) + ", but " + launch.by + " has started " +
                  std::to_string(launch.size) + " processes; say the same number, or leave it out");
    }
    if (process.size() == 1 && !P::served) {
      throw Error(
          launch.by + " has started " + std::to_string(launch.size) +
          " processes, and each would train alone: build with cleave::mpi and start by mpirun or srun, or run one "
          "process with --ranks " +
          std::to_string(launch.size));
    }
  }

  if (ranks % P::ways != 0) {
    throw Error("--ranks " + std::to_string(ranks) + ": this plan splits layers over " + std::to_string(P::ways) +
                " ways, so ranks must be a multiple of " + std::to_string(P::ways));
  }
  schedule::Ranks const mesh{ranks / P::ways, P::ways};
  std::fprintf(
      say, "plan on %d ranks (%d replicas x %d ways), batch %d in %d micro-batches%s, %s, %s, products by %s\n%s%s",
      ranks, mesh.data, mesh.model, P::batch, P::micro_batches,
      P::rounds > 1 ? (" and " + std::to_string(P::rounds) + " rounds").c_str() : "",
      std::string(tensor::name_of<typename P::number>).c_str(), P::format.ordered ? "ordered sums" : "fastest sums",
      backend::host::products_by, schedule::listing<P>(mesh).c_str(), schedule::summary<P>(mesh).c_str());
  if (plan_only) return 0;
  if (int const other = process.stranger(fingerprint<P>(mesh.data)); other >= 0) {
    throw Error("rank " + std::to_string(other) + " runs another plan, schedule or version than rank 0");
  }
  if constexpr (P::served) {
    if (apart.serves()) return serve<P>(say, apart, mesh.data, static_cast<std::uint64_t>(seed_given));
  }

  std::string note;
  io::Images training = Data::read(data, io::Split::Train, note);
  io::Images const held_out = Data::read(data, io::Split::Test, note);
  if (!note.empty()) std::fprintf(say, "%s\n", note.c_str());
  if (limit > 0) training.keep_first(limit);
  Shape const input = P::Net::input::shape;
  if (long{training.channels} * training.height * training.width != input.size()) {
    throw Error(std::string(Data::name) + ": images of " + std::to_string(training.stride()) +
                " values, the model takes " + std::to_string(input.size()));
  }
  if (training.count < P::batch) {
    throw Error(std::string(Data::name) + ": " + std::to_string(training.count) +
                " images are fewer than one batch of " + std::to_string(P::batch));
  }

  if constexpr (P::served) {
    Host<P> host;
    if (launch.size > 1 && !apart_by_hand)
      host.start(apart, launch, process, mesh.data, static_cast<std::uint64_t>(seed_given));
    if (apart.joins())
      return join<P, Data>(say, apart, mesh.data, static_cast<std::uint64_t>(seed_given), epochs, training, held_out,
                           out, json, [&] { process.wait_for_all(); });
  }
  std::uint64_t const seed = resume.empty() ? static_cast<std::uint64_t>(seed_given) : session::saved_seed(resume);
  trainer_of<P> trainer = make_trainer<P>(mesh.data, seed, process.remote());
  if (!resume.empty()) session::load(trainer, resume);
  if constexpr (requires { P::delay(0, 0L); }) {  // a plan may make its replicas slow
    static_assert(P::served, "delay: only replicas around a server can be slow one by one; say Shards<1>");
    trainer.before_push = [](int replica, long step, int shard) {
      if (shard == 0) P::delay(replica, step);
    };
  }
  session::Scaling const scaling = session::Scaling::of(training);
  session::Batches batches(training, scaling, P::batch, seed, true, Data::variation),
      test(held_out, scaling, P::batch, seed, false);
  long const per_epoch = batches.steps_per_epoch(), last = per_epoch * epochs, first = trainer.steps();
  Rate const rate = P::rate.over(last);
  trainer.set_rate(rate);
  if (leads) io::make_folder(out);

  io::Series losses{"loss", {}, {}}, accuracies{"held-out accuracy", {}, {}};
  std::string metrics;
  session::Progress progress(say, last - first, P::batch);
  double loss = 0, accuracy = 0, training_seconds = 0;
  for (long step = first; step < last;) {
    batches.shuffle(step / per_epoch);
    long const end = std::min(last, (step / per_epoch + 1) * per_epoch);
    int const chunk = static_cast<int>(std::min<long>(P::served ? 64 : 16, end - step));
    double const begin = progress.elapsed();
    double mean = 0;
    for (double l : trainer.train(step, chunk, batches.feed())) mean += l / chunk;
    training_seconds += progress.elapsed() - begin;
    step += chunk;
    loss = mean;
    losses.x.push_back(static_cast<double>(step));
    losses.y.push_back(mean);
    metrics += io::JsonLine()
                   .add("step", step)
                   .add("epoch", static_cast<double>(step) / static_cast<double>(per_epoch))
                   .add("loss", mean)
                   .add("rate", static_cast<double>(rate.at(step - 1)))
                   .add("seconds", training_seconds)
                   .text() +
               "\n";
    progress.show(step - first, mean);
    if (step % per_epoch == 0) {
      accuracy = trainer.accuracy(test.feed(), held_out.count);
      accuracies.x.push_back(static_cast<double>(step));
      accuracies.y.push_back(accuracy);
      metrics += io::JsonLine().add("step", step).add("accuracy", accuracy).text() + "\n";
      if (step < last) std::fprintf(say, "epoch %ld: held-out accuracy %.2f %%\n", step / per_epoch, 100 * accuracy);
    }
  }
  if (first >= last) accuracy = trainer.accuracy(test.feed(), held_out.count);

  double const images = static_cast<double>(last > first ? last - first : 0) * P::batch;
  double const speed = training_seconds > 0 ? images / training_seconds : 0;
  std::fprintf(say, "held-out accuracy %.2f %% of %d images; %.1f s, %.0f images/s\n", 100 * accuracy, held_out.count,
               training_seconds, speed);
  std::fprintf(
      say, "rank 0 sent %s elements, waited %.2f s for others, %.2f s of it for gradients after its backward pass\n",
      schedule::text::grouped(trainer.sent(0)).c_str(), trainer.waited(0), trainer.exposed(0));

  if constexpr (P::served) std::fprintf(say, "%s", trainer.ledger().text().c_str());

  std::string const curve = out + "/loss.svg", lines = out + "/metrics.jsonl",
                    checkpoint = out + "/checkpoint.safetensors", sheet = out + "/samples.png";
  if (leads && !losses.x.empty()) {
    io::write_line_chart(curve, {program + ": loss", "step", "loss"}, {losses});
    io::write_file(lines, io::Bytes(reinterpret_cast<unsigned char const*>(metrics.data()), metrics.size()));
  }
  session::save(trainer, checkpoint, seed, leads);
  if (leads) io::write_png(sheet, io::sample_sheet(training, 10));
  std::fprintf(say, "wrote %s, %s, %s, %s\n", curve.c_str(), lines.c_str(), checkpoint.c_str(), sheet.c_str());
  io::JsonLine line;
  line.add("accuracy", accuracy)
      .add("loss", loss)
      .add("seconds", training_seconds)
      .add("images_per_second", speed)
      .add("elements_sent", trainer.sent(0))
      .add("bytes_sent", trainer.sent_bytes(0))
      .add("ranks", ranks)
      .add("steps", trainer.steps())
      .add("exposed_seconds", trainer.exposed(0));
  if constexpr (P::served) {
    long dropped = 0;
    for (long d : trainer.ledger().dropped) dropped += d;
    line.add("mean_staleness", trainer.ledger().mean_age()).add("dropped", dropped);
  }
  if (json && leads) std::printf("%s\n", line.text().c_str());
  return 0;
}

}  // namespace session

/// Trains plan P on Data (Mnist, Cifar10, or your own class with `name`, `variation` and `read`). Returns the exit
/// code: 0, or 2 after one line on stderr that says what to mend.
template <class P, class Data> int run(int argc, char** argv) {
  auto const tell = [&](std::string const& who, Error const& e) {
    std::fprintf(stderr, "%s: %s%s\n", session::program_name(argv[0]).c_str(), who.c_str(), e.what());
    return 2;
  };
  try {
    session::Launch const launch = session::launched();
    backend::mpi::Process process(backend::mpi::Process::has_mpi && launch.mpi && launch.size > 1);
    try {
      return session::train<P, Data>(argc, argv, launch, process);
    } catch (Error const& e) {
      int const code = tell(process.size() > 1 ? "rank " + std::to_string(process.rank()) + ": " : "", e);
      process.abort(code);
      return code;
    }
  } catch (Error const& e) {
    return tell("", e);
  }
}

}  // namespace cleave
