// 08_sandblaster - L-BFGS over the whole batch: small portions to whoever is free, late ones twice, the first counts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>
using namespace cleave;

struct Mlp : Sequential<Image<1, 28, 28>, Linear<128>, Tanh, Linear<10>, CrossEntropy> {};

// Async: a replica computes on its own. Batch: that of one portion; all portions together are the data.
struct Portion : Plan<Mlp, Batch<100>, DataParallel<Async>, Shards<4>> {};

int train(int argc, char** argv) {
  io::Options o("08_sandblaster", "trains on " + std::string(Mnist::name) + " by Sandblaster L-BFGS");
  std::string const& data = o.text("data", "", "folder of the data set");
  int const& ranks = o.number("ranks", session::default_ranks<Portion>(), 1, 64, "replicas, as threads");
  int const& epochs = o.number("epochs", 40, 1, 1000000, "iterations, each over the whole batch");
  int const& seed = o.number("seed", 1, 0, 2147483647, "of weights and shuffling");
  int const& limit = o.number("limit", 0, 0, 2147483647, "train on the first so many images only; 0: all");
  bool const& json = o.flag("json", "the last line of the output is one JSON object");
  if (!o.parse(argc, argv)) return 0;
  std::FILE* const say = json ? stderr : stdout;

  std::string note;
  io::Images training = Mnist::read(data, io::Split::Train, note);
  io::Images const held_out = Mnist::read(data, io::Split::Test, note);
  if (limit > 0) training.keep_first(limit);
  session::Scaling const scaling = session::Scaling::of(training);
  auto const drawn_by = static_cast<std::uint64_t>(seed);
  session::Batches batches(training, scaling, Portion::batch, drawn_by, true),
      test(held_out, scaling, Portion::batch, drawn_by, false);
  batches.shuffle(0);  // once: the function that is made small stays the same

  Sandblaster<Portion> trainer(ranks, static_cast<int>(batches.steps_per_epoch()), drawn_by);
  std::fprintf(say, "%ld portions of %d images, %d replicas, %d shards, %ld weights; the coordinator holds %zu bytes\n",
               batches.steps_per_epoch(), Portion::batch, ranks, Portion::shards, Portion::schedule.weight_elements,
               sizeof(trainer.coordinator()));
  auto const begin = std::chrono::steady_clock::now();
  for (int k = 0; k < epochs && !trainer.converged(); ++k) {
    double const loss = trainer.step(batches.feed());
    std::fprintf(say, "iteration %d: loss %.4f, %d gradients, %ld portions issued again so far\n", k + 1, loss,
                 trainer.coordinator().trials, trainer.ledger().again);
  }
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  double const accuracy = trainer.accuracy(test.feed(), held_out.count);
  auto const done = trainer.ledger();
  std::fprintf(say, "held-out accuracy %.2f %% of %d images; %.1f s for %ld iterations\n", 100 * accuracy,
               held_out.count, seconds, trainer.iterations());
  std::fprintf(say, "%ld portions issued, %ld of them again, %ld results dropped; sent: gradients %s, weights %s\n",
               done.issued, done.again, done.dropped, schedule::text::grouped(done.gradients_sent).c_str(),
               schedule::text::grouped(done.weights_sent).c_str());
  io::JsonLine line;
  line.add("accuracy", accuracy)
      .add("loss", trainer.loss())
      .add("seconds", seconds)
      .add("elements_sent", done.gradients_sent + done.weights_sent)
      .add("ranks", ranks)
      .add("steps", trainer.iterations())
      .add("issued_again", done.again)
      .add("dropped", done.dropped);
  if (json) std::printf("%s\n", line.text().c_str());
  return 0;
}

int main(int argc, char** argv) {
  try {
    return train(argc, argv);
  } catch (Error const& e) {
    std::fprintf(stderr, "08_sandblaster: %s\n", e.what());
    return 2;
  }
}
