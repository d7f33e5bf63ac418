// backend/mpi/fit.cpp - a program with a trainer of its own, as processes: the same history as threads. Run by run.sh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave.hpp>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

using namespace cleave;

struct Net : Sequential<Vector<1>, Linear<32>, Tanh, Linear<1>, MeanSquaredError> {};
struct Train : Plan<Net, Batch<32>, MicroBatches<4>, DataParallel<Sync>, Adam> {};
struct Other : Plan<Net, Batch<32>, MicroBatches<4>, DataParallel<Sync>, RmsProp> {};

/// Told of steps by another number in each process, in some of none.
struct Unlike {
  int each = 1;
  void begin(FitStart const& start) { each = start.writes ? 4 : 0; }
  int every() const { return each; }
  void step(TrainedStep const&) {}
};

/// fit FILE [MISTAKE]: on rank 1, "data" changes a sample, "plan" and "seed" these, "fewer" leaves samples out of an
/// evaluation, "alone" throws where the others train, "watch" after an epoch, "steps" has no callback for steps. With
/// "threads" each process has two ranks; "share" asks for three ranks of two processes.
int main(int argc, char** argv) {
  ProcessGroup group;
  try {
    std::string const word = argc > 2 ? argv[2] : "", mistake = group.rank() == 1 ? word : "";
    int const replicas = word == "threads" ? 2 * group.size() : word == "share" ? 3 : 0;
    std::vector<float> x(2000), y(2000);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::sin(x[i] = 0.00314f * static_cast<float>(i));
    if (mistake == "data") x[777] = 3;
    if (mistake == "plan") Trainer<Other>({.processes = &group});
    Trainer<Train> trainer({.replicas = replicas, .seed = mistake == "seed" ? 2u : 1u, .processes = &group});
    if (mistake == "alone") throw Error("no data here");
    History const h = trainer.fit(x, y, {.epochs = 10, .validation = 0.1, .patience = 5}, [&](Epoch const& e) {
      if (mistake == "watch" && e.epoch == 3) throw Error("enough");
      return false;
    });
    trainer.save(argv[1]);
    auto predict = trainer.predictor();
    // While another trainer lives and trains, and after weights of this one have changed, it has those of its moment.
    auto second =
        std::make_unique<Trainer<Train>>(TrainerOptions{.replicas = replicas, .seed = 3, .processes = &group});
    // The last process ends it, within an epoch; the first writes.
    auto const fifth = [&](TrainedStep const& s) { return group.rank() == group.size() - 1 && s.step == 5; };
    std::string const page = std::string(argv[1]) + ".html", lines = std::string(argv[1]) + ".jsonl";
    FitOptions const brief{.epochs = 2, .validation = 0.1};
    long const before = second->steps();
    bool refused = false;  // in all of them, where only the first writes
    try {
      second->fit(x, y, brief, Report("/nowhere/page.html", *second));
    } catch (Error const&) {
      refused = true;
    }
    if (!refused || second->steps() != before) throw Error("took a page that cannot be written");
    second->fit(x, y, brief, Unlike());
    second->set_steps(0);
    if (mistake == "steps") second->fit(x, y, brief, Report(page, *second));
    History const ended = second->fit(x, y, brief, {fifth, Report(page, *second), JsonLines(lines, 2)});
    if (ended.epochs.size() != 1 || second->steps() != 5) throw Error("did not end at step 5");
    {  // A signal to the last process stops all; another start continues from that step.
      std::string const path = std::string(argv[1]) + ".stopped";
      FitOptions stops{.epochs = 2, .validation = 0.1, .checkpoint = path, .stop_on_signals = true};
      auto const sixth = [&](TrainedStep const& s) {
        if (group.rank() == group.size() - 1 && s.step == 6) std::raise(SIGUSR1);
      };
      Trainer<Train> stopped({.replicas = replicas, .seed = 3, .processes = &group}),
          rest({.seed = 3, .processes = &group}), whole({.seed = 3, .processes = &group});
      History const until = stopped.fit(x, y, stops, sixth);
      if (until.stop_reason != StopReason::Signal || !until.epochs.empty() || stopped.steps() != 6)
        throw Error("did not stop at step 6");
      rest.fit(x, y, stops);
      stops.checkpoint.clear();
      whole.fit(x, y, stops);
      if (rest.predictor()(x) != whole.predictor()(x)) throw Error("continues with other weights");
      if (group.leads())
        for (std::string const& file : {path, session::best_beside(path)}) std::remove(file.c_str());
    }
    auto again = trainer.predictor();
    second->save(std::string(argv[1]) + ".second");
    trainer.load_weights(std::string(argv[1]) + ".second");
    auto changed = trainer.predictor();
    second = std::make_unique<Trainer<Train>>(TrainerOptions{.seed = 4, .processes = &group});
    second->load(argv[1]);
    auto loaded = second->predictor();
    if (again(x) != predict(x) || loaded(x) != predict(x) || changed(x) == predict(x)) throw Error("other weights");
    trainer.load(argv[1]);
    std::size_t const n = mistake == "fewer" ? 1000 : 2000;
    double const loss = trainer.evaluate(std::span(x).first(n), std::span(y).first(n)).loss;
    double const error = predict.evaluate(x, y, MeanAbsoluteError{}).value();
    if (group.leads())
      std::printf("%zu epochs, val_loss %.9g, loss %.9g, error %.9g\n", h.epochs.size(), h.best().val_loss, loss,
                  error);
    return 0;
  } catch (std::exception const& e) {
    return group.fail(e);
  }
}
