// report/callback.cpp - when callbacks are called, with what, and how they end a training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "../io/scratch.hpp"
#include "../train/points.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<3>, Linear<8>, Tanh, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<20>, DataParallel<Sync>, Adam> {};

// All members, one of them, and near misses: a member that takes another thing, and one that returns another thing.
struct All {
  std::vector<std::string> told;
  std::vector<TrainedStep> steps;
  FitStart start;
  void begin(FitStart const& s) { told.push_back("begin"), start = s; }
  void step(TrainedStep const& s) { told.push_back("step"), steps.push_back(s); }
  void epoch(Epoch const&) { told.push_back("epoch"); }
  void end(History const&) { told.push_back("end"); }
};
struct OnlyEnd {
  void end(History const&) {}
};
struct StepOfAnotherKind {
  void step(std::string const&) {}
};
struct NotCalledSo {
  void on_epoch_end(Epoch const&) {}
};
static_assert(Callback<All> && Callback<OnlyEnd> && Callback<void (*)(Epoch const&)> &&
              Callback<bool (*)(TrainedStep const&)>);
static_assert(!Callback<StepOfAnotherKind> && !Callback<NotCalledSo> && !Callback<int> && !Callback<void (*)()>);
static_assert(Callback<ProgressBar> && Callback<JsonLines> && Callback<Report<Trainer<Train>>>);

std::string text_of(std::string const& path) {
  auto const bytes = io::read_file(path);
  return {bytes.begin(), bytes.end()};
}
long lines_of(std::string const& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_CASE("an object is called at the beginning, after steps and epochs, and in the end") {
  Points const points;
  Trainer<Train> trainer({.replicas = 2}), alone({.replicas = 2});
  All all;
  History const h = trainer.fit(points, {.epochs = 2, .validation = 0.2}, all);
  REQUIRE(all.told.size() == 2 + 2 * (10 + 1));
  CHECK(all.told.front() == "begin");
  CHECK(all.told[8] == "step");
  CHECK(all.told[11] == "epoch");
  CHECK(all.told.back() == "end");
  CHECK(all.start.first == 0);
  CHECK(all.start.last == 20);
  CHECK(all.start.batch == 20);
  CHECK(all.start.samples == 200);
  CHECK(all.start.held_out == 50);
  CHECK(all.steps[10].step == 11);
  CHECK(all.steps[10].epoch == 2);
  double sum = 0;
  for (int s = 0; s < 10; ++s) sum += all.steps[static_cast<std::size_t>(s)].loss;
  CHECK(h.epochs[0].loss == sum / 10);
  History const untold = alone.fit(points, {.epochs = 2, .validation = 0.2});
  CHECK(untold.epochs[1].val_loss == h.epochs[1].val_loss);
}
TEST_CASE("several callbacks; the weights are those after the step") {
  Points const points;
  Trainer<Train> trainer({.replicas = 1});
  std::vector<long> at;
  int ended = 0;
  All all;
  trainer.fit(points, {.epochs = 1},
              {[&](TrainedStep const& s) {
                 at.push_back(trainer.steps());
                 CHECK(s.step == trainer.steps());
                 CHECK(s.steps == 1);
               },
               all, [&](Epoch const& e) { ended = e.epoch; }});
  CHECK(at == std::vector<long>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(ended == 1);
  CHECK(all.steps.size() == 12);
}
TEST_CASE("a callback every three steps gets their mean loss, whatever other callbacks there are") {
  struct Third {
    std::vector<TrainedStep> told{};
    static int every() { return 3; }
    void step(TrainedStep const& s) { told.push_back(s); }
  };
  Points const points;
  Trainer<Train> first({.replicas = 1}), second({.replicas = 1});
  Third alone, among;
  All all;
  first.fit(points, {.epochs = 2, .validation = 0.2}, alone);
  second.fit(points, {.epochs = 2, .validation = 0.2}, {among, all});
  REQUIRE(alone.told.size() == 8);  // 3, 6, 9, and the last step of each epoch
  REQUIRE(among.told.size() == 8);
  CHECK(among.told[0].loss == doctest::Approx((all.steps[0].loss + all.steps[1].loss + all.steps[2].loss) / 3));
  CHECK(among.told[3].step == 10);
  CHECK(among.told[3].epoch == 1);
  CHECK(among.told[7].step == 20);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(among.told[i].steps == (i % 4 < 3 ? 3 : 1));
    CHECK(among.told[i].step == alone.told[i].step);
    CHECK(among.told[i].loss == doctest::Approx(alone.told[i].loss));
  }
}
TEST_CASE("a callback may end a training, within an epoch too; another start continues it from there") {
  Points const points;
  scratch::Folder const folder;
  FitOptions how{.epochs = 5, .validation = 0.2, .checkpoint = folder / "fit.safetensors"};
  auto const stop = [](TrainedStep const& s) { return s.step == 13; };
  Trainer<Train> trainer({.replicas = 2});
  History const h = trainer.fit(points, how, stop);
  REQUIRE(h.epochs.size() == 2);
  CHECK(h.epochs[1].steps == 13);
  CHECK(h.epochs[1].val_loss > 0);
  CHECK(h.stopped_early);
  CHECK(h.stop_reason == StopReason::Callback);
  Trainer<Train> rest({.replicas = 1}), whole({.replicas = 1});
  History const continued = rest.fit(points, how);
  how.checkpoint.clear();
  History const uninterrupted = whole.fit(points, how);
  REQUIRE(continued.epochs.size() == 5);
  CHECK(!continued.stopped_early);
  for (std::size_t e = 0; e < 5; ++e) CHECK(continued.epochs[e].val_loss == uninterrupted.epochs[e].val_loss);
  for (std::size_t e = 0; e < 5; ++e) CHECK(continued.epochs[e].loss == uninterrupted.epochs[e].loss);
}
TEST_CASE("a generic function is called for epochs") {
  Points const points;
  std::vector<double> losses;
  auto const seen = [&](auto const& e) {
    losses.push_back(e.val_loss);
    return e.epoch == 2;
  };
  static_assert(Callback<decltype(seen)>);
  History const h = Trainer<Train>(1).fit(points, {.epochs = 5, .validation = 0.25}, seen);
  REQUIRE(losses.size() == 2);
  CHECK(losses[1] == h.epochs[1].val_loss);
}
TEST_CASE("what a callback throws leaves fit; the trainer goes on after it") {
  Points const points;
  Trainer<Train> trainer({.replicas = 2});
  CHECK_THROWS_WITH(trainer.fit(points, {.epochs = 2},
                                [](TrainedStep const& s) {
                                  if (s.step == 3) throw std::runtime_error("enough");
                                }),
                    "enough");
  CHECK(trainer.steps() == 3);
  CHECK(trainer.fit(points, {.epochs = 1}).epochs.size() == 1);
}
TEST_CASE("JsonLines: a line for each epoch, and for so many steps; a training that continues adds to it") {
  Points const points;
  scratch::Folder const folder;
  std::string const path = folder / "run.jsonl";
  Trainer<Train> trainer({.replicas = 2});
  trainer.fit(points, {.epochs = 2, .validation = 0.2}, JsonLines(path, 4));
  CHECK(lines_of(text_of(path)) == 6 + 2);
  CHECK(text_of(path).starts_with("{\"step\":4,\"epoch\":1,\"loss\":"));
  CHECK(text_of(path).find("\"val_accuracy\":") != std::string::npos);
  trainer.fit(points, {.epochs = 1, .validation = 0.2}, JsonLines(path));
  CHECK(lines_of(text_of(path)) == 6 + 2 + 1);
  CHECK(text_of(path).find("\n{\"step\":30,\"epoch\":1,") != std::string::npos);
  CHECK(text_of(path).ends_with("}\n"));
  CHECK_THROWS_WITH_AS(trainer.fit(points, {.epochs = 1}, JsonLines("/dev/null")),
                       doctest::Contains("/dev/null: is no file"), Error);
  CHECK_THROWS_WITH_AS(trainer.fit(points, {.epochs = 1}, JsonLines("/nowhere/run.jsonl")),
                       doctest::Contains("/nowhere/run.jsonl: cannot write here"), Error);
  CHECK_THROWS_WITH_AS(JsonLines("x", -1), doctest::Contains("every -1 steps"), Error);
}
TEST_CASE("a training that is interrupted and continues leaves the lines of one that was not") {
  Points const points;
  scratch::Folder const folder;
  auto const lines = [&](std::string const& name, int killed) {
    FitOptions const how{.epochs = 4, .validation = 0.2, .checkpoint = folder / (name + ".safetensors")};
    for (int run = 0; run < (killed > 0 ? 2 : 1); ++run) {
      Trainer<Train> trainer({.replicas = 1});
      auto const kill = [&](TrainedStep const& s) {
        if (run == 0 && s.step == killed) throw std::runtime_error("killed");
      };
      try {
        trainer.fit(points, how, {JsonLines(folder / (name + ".jsonl"), 4), kill});
      } catch (std::runtime_error const&) {
      }
    }
    std::string out = text_of(folder / (name + ".jsonl"));
    for (std::size_t at = 0; (at = out.find(",\"seconds\":", at)) != out.npos;) out.erase(at, out.find('}', at) - at);
    return out;
  };
  CHECK(lines("killed", 27) == lines("whole", 0));
}
TEST_CASE("ProgressBar: steps and epochs to the file that it is given") {
  Points const points;
  Trainer<Train> trainer({.replicas = 1});
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  trainer.fit(points, {.epochs = 2, .validation = 0.2}, ProgressBar(file));
  std::string text(4096, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  CHECK(text.find("] step 1/20  loss ") != std::string::npos);
  CHECK(text.find("] step 20/20  loss ") != std::string::npos);
  CHECK(text.find(" samples/s") != std::string::npos);
  CHECK(text.find("epoch 2 of 2, loss 0.") != std::string::npos);
  CHECK(text.find(", val_accuracy ") != std::string::npos);
}
