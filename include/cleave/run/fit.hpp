// run/fit.hpp - the training loop of a program: epochs, progress, held-out accuracy, and the files it leaves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdio>

#include "../io/chart.hpp"
#include "../io/json_line.hpp"
#include "../io/picture.hpp"
#include "../schedule/listing.hpp"
#include "checkpoint.hpp"
#include "data.hpp"
#include "progress.hpp"
#include "trace.hpp"

namespace cleave::session {

/// What the command line said.
struct Job {
  std::string program, out;
  int ranks = 1, epochs = 1;
  std::uint64_t seed = 1;
  bool json = false, leads = true;  // leads: this process writes
  std::FILE* say = stdout;
  Tracing tracing{};
};

template <class P, class Data, class Trained>
int fit(Trained& trainer, Job const& job, io::Images const& training, io::Images const& held_out) {
  auto const& [program, out, ranks, epochs, seed, json, leads, say, tracing] = job;
  session::Scaling const scaling = session::Scaling::of(training);
  session::Batches batches(training, scaling, P::batch, seed, true, Data::variation),
      test(held_out, scaling, P::batch, seed, false);
  long const per_epoch = batches.steps_per_epoch(), last = per_epoch * epochs, first = trainer.steps();
  Rate const rate = P::rate.over(last);
  trainer.set_rate(rate);
  if (leads) io::make_folder(out);
  if (tracing) trainer.trace(tracing.steps);

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
  if (tracing) tracing.write<P>(say, trainer.timelines());
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

}  // namespace cleave::session
