// train/measure.cpp - figures of an epoch beside its loss: of the samples held out, of a function, in all that shows a training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <fstream>
#include <sstream>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

struct Points {
  using Input = Vector<3>;
  using Target = Class<2>;
  static long size() { return 200; }
  static void read(long i, std::span<float> x, int& y) {
    tensor::Random const random{3, tensor::Purpose::Augment, static_cast<std::uint32_t>(i)};
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = random.uniform(k) - 0.5f;
    y = x[0] + x[1] > 0.1f;
  }
};
/// Two labels of 0 and 1 for each sample.
struct Labels {
  using Input = Vector<3>;
  using Target = Values<2>;
  static long size() { return 200; }
  static void read(long i, std::span<float> x, std::span<float> y) {
    int c = 0;
    Points::read(i, x, c);
    y[0] = static_cast<float>(c), y[1] = x[2] > 0;
  }
};
struct Net : Sequential<Vector<3>, Linear<8>, Tanh, Linear<2>, CrossEntropy> {};
struct Train : Plan<Net, Batch<20>, DataParallel<Sync>, Momentum> {};
struct Several : Sequential<Vector<3>, Linear<8>, Tanh, Linear<2>, BinaryCrossEntropy> {};
struct TrainSeveral : Plan<Several, Batch<20>, DataParallel<Sync>, Momentum> {};

/// The mean of the second output.
struct MeanOutput {
  double sum = 0;
  long samples = 0;
  void add(std::span<float const> outputs, int) { sum += static_cast<double>(outputs[1]), ++samples; }
  void merge(MeanOutput const& o) { sum += o.sum, samples += o.samples; }
  double value() const { return sum / static_cast<double>(samples); }
};
std::string text_of(std::string const& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

TEST_CASE("metrics of the samples held out, and a function, are figures of each epoch") {
  Points const points;
  auto const [training, test] = split(points, 0.25);
  Trainer<Train> trainer({.replicas = 2});
  double rate = 1;
  std::vector<double> f1, mean;
  auto const compare = [&, &held_out = test](Epoch const& e) {
    auto const [a, b] = trainer.evaluate(held_out, MacroF1{}, MeanOutput{});
    f1.push_back(a.value()), mean.push_back(b.value());
    CHECK(e.value("f1") == a.value());  // though it comes before in the list
  };
  History const h = trainer.fit(training, test, {.epochs = 3},
                                {compare, Measure("f1", trainer, MacroF1{}), Measure("mean", trainer, MeanOutput{}),
                                 Measure("rate", [&] { return rate /= 2; })});
  REQUIRE(h.epochs.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(h.epochs[i].measured.size() == 3);
    CHECK(h.epochs[i].value("f1") == f1[i]);
    CHECK(h.epochs[i].value("mean") == mean[i]);
  }
  CHECK(h.epochs[2].value("rate") == 0.125);
  CHECK(std::isnan(h.epochs[2].value("recall")));
  CHECK(h.names_measured() == std::vector<std::string>{"f1", "mean", "rate"});
}
TEST_CASE("they are in JSON lines, in CSV, on the page of a report and in the progress") {
  scratch::Folder const folder;
  Trainer<Train> trainer({.replicas = 2});
  std::FILE* const said = std::tmpfile();
  History const h = trainer.fit(Points(), {.epochs = 2, .validation = 0.25},
                                {ProgressBar(said), JsonLines(folder / "run.jsonl"),
                                 Report(folder / "run.html", trainer), Measure("F1, \"macro\"", trainer, MacroF1{})});
  std::string const value = io::number_text(h.epochs[1].value("F1, \"macro\""));
  CHECK(text_of(folder / "run.jsonl").find("\"F1, \\\"macro\\\"\":" + value) != std::string::npos);
  CHECK(h.csv().find("seconds,\"F1, \"\"macro\"\"\"\n") != std::string::npos);
  CHECK(h.csv().find("," + value + "\n") != std::string::npos);
  CHECK(text_of(folder / "run.html").find("[\"F1, \\\"macro\\\"\",[[") != std::string::npos);
  std::string shown(4096, ' ');
  std::rewind(said);
  shown.resize(std::fread(shown.data(), 1, shown.size(), said));
  std::fclose(said);
  CHECK(shown.find(", F1, \"macro\" 0.") != std::string::npos);
}
TEST_CASE("a training that continues keeps the figures of its first epochs") {
  scratch::Folder const folder;
  FitOptions how{.epochs = 4, .validation = 0.25, .checkpoint = folder / "fit.safetensors"};
  auto const stop = [](Epoch const& e) { return e.epoch == 2; };
  Trainer<Train> first({.replicas = 2}), second({.replicas = 1}), whole({.replicas = 1});
  first.fit(Points(), how, {Measure("F1 1", first, MacroF1{}), stop});
  History const h = second.fit(Points(), how, Measure("F1 1", second, MacroF1{}));
  how.checkpoint.clear();
  History const all = whole.fit(Points(), how, Measure("F1 1", whole, MacroF1{}));
  REQUIRE(h.epochs.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(h.epochs[i].value("F1 1") == all.epochs[i].value("F1 1"));
}
TEST_CASE("of several labels a sample: the accuracy of an epoch is the metric's") {
  Trainer<TrainSeveral> trainer({.replicas = 2});
  Labels const labels;
  auto const [training, test] = split(labels, 0.25);
  History const h = trainer.fit(training, test, {.epochs = 30}, Measure("accuracy", trainer, Accuracy{}));
  for (Epoch const& e : h.epochs) CHECK(e.val_accuracy == doctest::Approx(e.value("accuracy")).epsilon(1e-12));
  CHECK(h.epochs.back().val_accuracy > 0.8);
  CHECK(trainer.evaluate(test).accuracy == doctest::Approx(trainer.evaluate(test, Accuracy{}).value()));
}
TEST_CASE("a metric of nothing held out, or of the other kind of answer, is refused before the first step") {
  Trainer<Train> trainer({.replicas = 2});
  CHECK_THROWS_WITH_AS(trainer.fit(Points(), {.epochs = 2}, Measure("f1", trainer, MacroF1{})),
                       "Measure: \"f1\" is of samples held out, and none are; say .validation = 0.1", Error);
  CHECK(trainer.steps() == 0);
}
