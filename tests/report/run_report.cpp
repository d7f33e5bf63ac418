// report/run_report.cpp - the predictions of a report are those of a predictor; its JSON has all that the page draws.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <cleave/io/json.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {
struct Net : Sequential<Image<3, 8, 8>, Linear<16>, Relu, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<16>, MicroBatches<8>, DataParallel<Sync>, Momentum> {};

io::Images images(int count) {
  io::Images set{count, 3, 8, 8, {}, {}, 4, {"a", "<b>", "c", "d"}};
  for (int i = 0; i < count; ++i) {
    set.labels.push_back(static_cast<unsigned char>(i % 4));
    for (int p = 0; p < 192; ++p) set.pixels.push_back(static_cast<unsigned char>(p * (i % 4 + 1) * 7 + i * 13));
  }
  return set;
}
std::vector<int> predicted(auto& trainer, session::Batches<io::Images> const& test, long samples) {
  auto const feed = test.feed();
  return session::predicted_classes(
      trainer, [&](long i, float* x) { feed.pixels(feed.self, 0, i, 1, x); }, 4, samples);
}
}  // namespace

TEST_CASE("predicted classes by evaluations of numbered samples are those of a predictor") {
  io::Images const set = images(40);
  session::Batches<io::Images> const test(set, {}, Train::batch, 1, false);
  Trainer<Train> trainer(2, 7);
  trainer.train(0, 20, test.feed());
  scratch::Folder const folder;
  session::save(trainer, folder / "weights.safetensors", 7);
  Predictor<Net> predict(folder / "weights.safetensors");
  std::vector<float> const pixels(set.pixels.begin(), set.pixels.begin() + 18 * 192);
  auto const classes = predict.classes(pixels);
  CHECK(predicted(trainer, test, 18) == std::vector<int>(classes.begin(), classes.end()));
}
TEST_CASE("with fewer samples in a batch than classes") {
  struct Few : Plan<Net, Batch<2>, MicroBatches<2>, Momentum> {};
  io::Images const set = images(12);
  session::Batches<io::Images> const test(set, {}, Few::batch, 1, false);
  Trainer<Few> trainer(1, 7);
  trainer.train(0, 40, test.feed());
  auto const classes = trainer.predictor().classes(std::vector<float>(set.pixels.begin(), set.pixels.end()));
  CHECK(predicted(trainer, test, 12) == std::vector<int>(classes.begin(), classes.end()));
}
TEST_CASE("the JSON of a report") {
  io::Images const set = images(4);
  scratch::Folder const folder;
  session::Metrics metrics("test", folder / "metrics.jsonl", 0, true);
  for (long step = 1; step <= 3; ++step) metrics.add_loss(step, 1.0 / static_cast<double>(step));
  metrics.add_held_out(2, 0.5, 0.75);
  metrics.add_held_out(3, 0.25, std::numeric_limits<double>::quiet_NaN());
  session::RunReport report{"mine", "told"};
  report.class_names = set.class_names;
  report.confusion = {3, 1, 0, 4};
  report.pictures = {Shape(3, 8, 8), {0, 1, 2, 3}, {0, 1, 1, 3}, set.pixels};
  report.ages = {5, 0, 2};
  auto const plan =
      session::plan_facts("listing\n", schedule::program<Train>, Train::request_of(2), Train::ranks_of(2));
  std::string const json = report.json(plan, schedule::program<Train>, metrics.curves(), {});
  io::JsonReader reader(json, "report");
  while (reader.next() != io::JsonToken::End) {
  }
  for (std::string_view const part :
       {R"("loss":[[1,1],[2,0.5],[3,0.3333333333333333]])", R"("held_out":[[2,0.5,0.75],[3,0.25]])",
        R"("classes":["a","<b>","c","d"])", R"("confusion":[3,1,0,4])", R"("sample_shape":[3,8,8])",
        R"({"label":2,"predicted":1,"pixels":")", R"("staleness":[["0",5],["2",2]])", R"("timeline":[])",
        R"(["weights",)", R"(["all_reduce",)", R"("memory_over_step":[)", R"("plan":"listing\n")"})
    CHECK_MESSAGE(json.find(part) != json.npos, part);
}
