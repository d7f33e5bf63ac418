// train/report.cpp - Report: what the page of a training has, for each kind of trainer and of samples.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <cleave/io/json.hpp>
#include <cleave/train/emulated.hpp>
#include <map>
#include <numeric>

#include "../io/scratch.hpp"
#include "points.hpp"

using namespace cleave;

namespace {

/// The numbers of each list of the page's JSON, without its nesting; and how many items the list has.
struct Shown {
  std::map<std::string, std::vector<double>> numbers;
  std::map<std::string, int> items;
};
Shown shown(std::string const& path) {
  auto const bytes = io::read_file(path);
  std::string const page(bytes.begin(), bytes.end());
  std::size_t const begin = page.find("const page =\n") + 13, end = page.find(";\nconst svgns");
  REQUIRE(end != page.npos);
  io::JsonReader reader(std::string_view(page).substr(begin, end - begin), path);
  Shown out;
  REQUIRE(reader.next() == io::JsonToken::BeginObject);
  while (reader.next() == io::JsonToken::Name) {
    std::string const name = reader.string();
    int depth = 0;
    do {
      io::JsonToken const t = reader.next();
      if (depth == 1 && t != io::JsonToken::EndArray && t != io::JsonToken::EndObject) ++out.items[name];
      if (t == io::JsonToken::Number) out.numbers[name].push_back(reader.number());
      depth += t == io::JsonToken::BeginArray || t == io::JsonToken::BeginObject;
      depth -= t == io::JsonToken::EndArray || t == io::JsonToken::EndObject;
    } while (depth > 0);
  }
  return out;
}
double sum(std::vector<double> const& of) { return std::accumulate(of.begin(), of.end(), 0.0); }

struct Net : Sequential<Vector<3>, Linear<8>, Tanh, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<20>, DataParallel<Sync>, Adam> {};
struct Around : Plan<Net, Batch<20>, DataParallel<Async>, Momentum> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

}  // namespace

TEST_CASE("curves have a point for each epoch, the confusion matrix has all held-out samples, steps have spans") {
  Points const points;
  scratch::Folder const folder;
  std::string const path = folder / "report.html";
  Trainer<Train> trainer({.replicas = 2});
  Report report(path, trainer, "Points <b>");
  History const h = trainer.fit(points, {.epochs = 6, .validation = 0.2}, report);
  CHECK(report.error().empty());
  Shown const s = shown(path);
  CHECK(s.items.at("loss") == 6);
  CHECK(s.items.at("held_out") == 6);
  CHECK(s.numbers.at("held_out").back() == h.epochs.back().val_accuracy);
  REQUIRE(s.numbers.at("confusion").size() == 4);
  CHECK(sum(s.numbers.at("confusion")) == 50);
  CHECK((s.numbers.at("confusion")[0] + s.numbers.at("confusion")[3]) / 50 ==
        doctest::Approx(h.best().val_accuracy));  // of the best weights, with which the trainer ends
  CHECK(s.items.at("classes") == 2);
  CHECK(s.items.at("timeline") == 2);
  CHECK(s.items.at("memory_over_step") == schedule::program<Train>.steps);
  CHECK(s.items.count("samples") == 0);
  CHECK(sum(s.numbers.at("traffic")) == traffic<Train, 2>.bytes_per_step);
}
TEST_CASE("held-out pictures have their labels, and the classes of a predictor") {
  struct Stripes {
    using Input = Image<1, 4, 4>;
    using Target = Class<3>;
    static long size() { return 120; }
    static void read(long i, std::span<float> x, int& y) {
      y = static_cast<int>(i % 3);
      for (int p = 0; p < 16; ++p) x[static_cast<std::size_t>(p)] = static_cast<float>((p * (y + 1) + i) % 5) - 2;
    }
  };
  struct Seen : Plan<Sequential<Image<1, 4, 4>, Linear<16>, Relu, Linear<3>, CrossEntropy>, Batch<8>, MicroBatches<4>,
                     DataParallel<Sync>, Momentum> {};
  Stripes const all;
  auto const [training, test] = split(all, 0.25);
  scratch::Folder const folder;
  Trainer<Seen> trainer({.replicas = 4});
  trainer.fit(training, test, {.epochs = 2, .standardise = true}, Report(folder / "report.html", trainer));
  Shown const s = shown(folder / "report.html");
  CHECK(s.numbers.at("sample_shape") == std::vector<double>{1, 4, 4});
  CHECK(s.items.at("samples") == 20);
  std::vector<double> const& pairs = s.numbers.at("samples");
  REQUIRE(pairs.size() == 40);
  std::vector<float> x(16);
  auto predict = trainer.predictor();
  for (long i = 0; i < 20; ++i) {
    int label = -1;
    test.read(i, x, label);
    CHECK(pairs[static_cast<std::size_t>(2 * i)] == label);
    CHECK(pairs[static_cast<std::size_t>(2 * i + 1)] == predict.classes(x)[0]);
  }
}
TEST_CASE("of numbers, without held-out samples: a curve, and no matrix") {
  struct Line : Plan<Sequential<Vector<1>, Linear<4>, Tanh, Linear<1>, MeanSquaredError>, Batch<10>, Adam> {};
  std::vector<float> x(100), y(100);
  for (std::size_t i = 0; i < 100; ++i) y[i] = 2 * (x[i] = static_cast<float>(i) / 100);
  scratch::Folder const folder;
  Trainer<Line> trainer;
  trainer.fit(x, y, {.epochs = 3}, {Report(folder / "report.html", trainer), JsonLines(folder / "run.jsonl")});
  Shown const s = shown(folder / "report.html");
  CHECK(s.items.at("loss") == 3);
  CHECK(s.items.count("held_out") == 0);
  CHECK(s.items.count("confusion") == 0);
}
TEST_CASE("on a device, whose step is not traced; and around a server, with the ages of gradients") {
  struct OnDevice : Plan<Net, Batch<20>, MicroBatches<4>, DataParallel<Sync>, Momentum> {};
  Points const points;
  scratch::Folder const folder;
  DeviceTrainer<OnDevice, backend::emulate::Machine> device(2);
  device.fit(points, {.epochs = 2, .validation = 0.2}, Report(folder / "device.html", device));
  Shown const d = shown(folder / "device.html");
  CHECK(sum(d.numbers.at("confusion")) == 50);
  CHECK(d.items.count("timeline") == 0);
  Trainer<Around> around({.replicas = 2});
  around.fit(points, {.epochs = 2, .validation = 0.2}, Report(folder / "around.html", around));
  Shown const a = shown(folder / "around.html");
  CHECK(sum(a.numbers.at("confusion")) == 50);
  CHECK(a.items.at("staleness") > 0);
}
TEST_CASE("a page that cannot be written is refused before the first step") {
  Points const points;
  Trainer<Train> trainer({.replicas = 1});
  CHECK_THROWS_WITH_AS(trainer.fit(points, {.epochs = 1}, Report("/nowhere/report.html", trainer)),
                       doctest::Contains("/nowhere/report.html"), Error);
  CHECK(trainer.steps() == 0);
}
