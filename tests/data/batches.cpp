// data/batches.cpp - numbers are learnt from samples in memory, by every trainer; answers that are wrong are told by each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/emulated.hpp>

using namespace cleave;

namespace {

struct Wave : Sequential<Vector<1>, Linear<24>, Tanh, Linear<24>, Tanh, Linear<1>, MeanSquaredError> {};
struct Learn : Plan<Wave, Batch<32>, MicroBatches<8>, DataParallel<Sync>, Adam> {
  static constexpr Rate rate = Rate::cosine(0.02f, 2000);
};

io::Samples sine(int count) {
  io::Samples samples;
  for (int i = 0; i < count; ++i) {
    float const x = -3 + 6 * (static_cast<float>(i) + 0.5f) / static_cast<float>(count);
    samples.add({x}, {std::sin(x)});
  }
  return samples;
}

/// Two numbers from two: y = (2 a - b + 0.5, a + 3 b - 1), and something that no line explains.
struct Line : Sequential<Vector<2>, Linear<2>, MeanSquaredError> {};
template <class... Ps> struct Fit : Plan<Line, Batch<8>, MicroBatches<4>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.2f);
};
io::Samples plane() {
  io::Samples samples;
  for (int i = 0; i < 8; ++i) {
    float const a = static_cast<float>(i % 3) - 1, b = static_cast<float>(i / 3) - 1,
                off = static_cast<float>(i * i % 5) / 4;
    samples.add({a, b}, {2 * a - b + 0.5f + off, a + 3 * b - 1 - off});
  }
  return samples;
}
/// Least squares in closed form: solves (X'X) w = X'y with X = (a, b, 1), by elimination; returns (3, 2).
std::array<std::array<double, 2>, 3> least_squares(io::Samples const& s) {
  double m[3][5]{};
  for (int i = 0; i < s.count; ++i) {
    double const x[3] = {double{s.input(i)[0]}, double{s.input(i)[1]}, 1};
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) m[r][c] += x[r] * x[c];
      for (int c = 0; c < 2; ++c) m[r][3 + c] += x[r] * double{s.target(i)[static_cast<std::size_t>(c)]};
    }
  }
  for (int p = 0; p < 3; ++p) {
    for (int r = 0; r < 3; ++r) {
      if (r == p) continue;
      double const f = m[r][p] / m[p][p];
      for (int c = 0; c < 5; ++c) m[r][c] -= f * m[p][c];
    }
  }
  std::array<std::array<double, 2>, 3> w{};
  for (std::size_t r = 0; r < 3; ++r) w[r] = {m[r][3] / m[r][r], m[r][4] / m[r][r]};
  return w;
}
/// The mean over samples of the mean over outputs of (x - y)^2.
double loss_of(io::Samples const& s, std::array<std::array<double, 2>, 3> const& w) {
  double sum = 0;
  for (int i = 0; i < s.count; ++i) {
    for (std::size_t c = 0; c < 2; ++c) {
      double const x = double{s.input(i)[0]} * w[0][c] + double{s.input(i)[1]} * w[1][c] + w[2][c];
      sum += (x - double{s.target(i)[c]}) * (x - double{s.target(i)[c]}) / 2;
    }
  }
  return sum / s.count;
}
template <class Trained> std::array<std::array<double, 2>, 3> weights(Trained& t) {
  auto const kept = session::kept<typename Trained::plan>();
  auto const w = session::whole(t, kept[0]), b = session::whole(t, kept[1]);
  std::array<std::array<double, 2>, 3> all{};
  for (std::size_t c = 0; c < 2; ++c) {
    all[0][c] = static_cast<double>(w[c]), all[1][c] = static_cast<double>(w[2 + c]);
    all[2][c] = static_cast<double>(b[c]);
  }
  return all;
}
/// The trainer's losses are those of its weights, and these come to the closed form.
template <class Trained> void comes_to_the_line(Trained&& trainer, int steps, double tolerance) {
  io::Samples const samples = plane();
  session::Batches const batches(samples, {}, 8, 1, false);
  double const before = loss_of(samples, weights(trainer));
  CHECK(trainer.score(batches.feed(), 8).loss == doctest::Approx(before).epsilon(1e-5));
  double const first = trainer.train(0, 1, batches.feed())[0];
  CHECK(first == doctest::Approx(before).epsilon(1e-5));
  for (int i = 1; i < steps; i += 50) trainer.train(i, 50, batches.feed());
  auto const best = least_squares(samples), got = weights(trainer);
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 2; ++c) CHECK(got[r][c] == doctest::Approx(best[r][c]).epsilon(tolerance));
  }
  CHECK(trainer.score(batches.feed(), 8).loss == doctest::Approx(loss_of(samples, best)).epsilon(tolerance));
  auto const some = trainer.score(batches.feed(), 5);  // not a whole batch
  CHECK(some.samples == 5);
  io::Samples five = plane();
  five.keep_first(5);
  CHECK(some.loss == doctest::Approx(loss_of(five, got)).epsilon(1e-4));
  CHECK_THROWS_WITH_AS(trainer.accuracy(batches.feed(), 8), doctest::Contains("no labels"), Error);
}
using Device = backend::emulate::Machine;
using Summed = Fit<DataParallel<Sync>>;
using ByServer = Fit<DataParallel<Sync>, Shards<1>>;

}  // namespace

TEST_CASE("y = sin x is learnt from samples in memory, with the same bits on any number of replicas") {
  io::Samples const samples = sine(256), between = sine(77);
  session::Batches batches(samples, {}, Learn::batch);
  session::Batches const test(between, {}, Learn::batch, 1, false);
  std::vector<double> losses;
  for (int replicas : {1, 3}) {
    Trainer<Learn> trainer(replicas);
    std::vector<double> now;
    for (long step = 0; step < 2000; step += batches.steps_per_epoch()) {
      batches.shuffle(step / batches.steps_per_epoch());
      now.push_back(trainer.train(step, static_cast<int>(batches.steps_per_epoch()), batches.feed()).back());
    }
    double const held_out = trainer.score(test.feed(), between.count).loss;
    CHECK(held_out < 1e-3);
    now.push_back(held_out < 1e-3 ? 0 : held_out);
    if (replicas > 1) CHECK(now == losses);
    losses = now;
  }
}

TEST_CASE("a line is the least-squares line in closed form, on threads, around a server, on a device") {
  comes_to_the_line(Trainer<Summed>(1), 401, 1e-4);
  comes_to_the_line(Trainer<Summed>(3), 401, 1e-4);
  comes_to_the_line(Served<ByServer>(2), 401, 1e-4);
  comes_to_the_line(DeviceTrainer<Summed, Device>(2), 401, 1e-4);
  comes_to_the_line(Trainer<Fit<ModelParallel<SplitCols>>>(1), 401, 1e-4);
}

TEST_CASE("L-BFGS comes to the same line") {
  io::Samples const samples = plane();
  session::Batches const batches(samples, {}, 8, 1, false);
  Sandblaster<Fit<DataParallel<Async>>> trainer(2, 1);
  for (int i = 0; i < 12; ++i) trainer.step(batches.feed());
  CHECK(trainer.loss() == doctest::Approx(loss_of(samples, least_squares(samples))).epsilon(1e-5));
  CHECK(trainer.score(batches.feed(), 8).loss == doctest::Approx(trainer.loss()).epsilon(1e-5));
}

namespace {
struct Five : Sequential<Vector<2>, Linear<5>, CrossEntropy> {};
template <class... Ps> struct Classify : Plan<Five, Batch<8>, MicroBatches<4>, Ps...> {};
io::Samples ten_classes(int wrong) {
  io::Samples samples;
  for (int i = 0; i < 8; ++i) samples.add({1, 2}, i == 6 ? wrong : i % 5);
  return samples;
}
template <class Make> void refuses(Make make) {
  for (int wrong : {5, 9, 1'000'000, -5}) {
    io::Samples const samples = ten_classes(wrong);
    session::Batches const batches(samples, {}, 8, 1, false);
    std::string const what = "sample 6: label " + std::to_string(wrong) + ", but cross_entropy has 5 classes, 0 to 4";
    CHECK_THROWS_WITH_AS(make().train(0, 1, batches.feed()), doctest::Contains(what.c_str()), Error);
    CHECK_THROWS_WITH_AS(make().accuracy(batches.feed(), 8), doctest::Contains(what.c_str()), Error);
    CHECK(make().score(batches.feed(), 6).samples == 6);  // what is not asked for is not looked at
  }
}
}  // namespace

TEST_CASE("labels that are no class are refused by every trainer, in training and in evaluation") {
  using All = Classify<DataParallel<Sync>>;
  refuses([] { return Trainer<All>(1); });
  refuses([] { return Trainer<All>(2); });
  refuses([] { return Served<Classify<DataParallel<Async>>>(2); });
  refuses([] { return DeviceTrainer<All, Device>(2); });
  io::Samples const samples = ten_classes(7);
  session::Batches const batches(samples, {}, 8, 1, false);
  Sandblaster<Classify<DataParallel<Async>>> by_portions(2, 1);
  CHECK_THROWS_WITH_AS(by_portions.step(batches.feed()), doctest::Contains("sample 6: label 7"), Error);
}

namespace {
/// A loss of the user's own, of numbers alone: the sum of |x - target|, with what it keeps for the way back.
struct Distance : op::Base {
  static constexpr auto name = "distance";
  static constexpr auto equation = "bF->b";
  static constexpr bool is_loss = true, reads_x = true;
  static constexpr op::Target loss_target = op::Target::Numbers;
  static constexpr Shape output(Shape) { return Shape(1); }
  static constexpr long aux(Shape x, Shape) { return x.size(); }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(1, [&](long) {
      *t.loss = 0;
      for (long e = 0; e < L.rows * L.x.size(); ++e) {
        t.aux[e] = t.x[e] < t.targets[e] ? -1 : 1;
        *t.loss += t.aux[e] * (t.x[e] - t.targets[e]);
      }
    });
  }
  template <op::Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, op::Operands<T> const& t) {
    ctx.each(L.rows * L.x.size(), [&](long e) { t.dx[e] = t.aux[e] * t.scale; });
  }
};
struct Median : Sequential<Vector<2>, Linear<2>, layer::Chain<Distance>> {};
struct FindMedian : Plan<Median, Batch<8>, MicroBatches<4>, DataParallel<Sync>> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
}  // namespace

TEST_CASE("a loss of the user's own may take numbers alone") {
  io::Samples const samples = plane(), classes = ten_classes(0);
  session::Batches const batches(samples, {}, 8, 1, false), labelled(classes, {}, 8);
  Trainer<FindMedian> trainer(2);
  auto const w = weights(trainer);
  double sum = 0;
  for (int i = 0; i < 8; ++i) {
    for (std::size_t c = 0; c < 2; ++c) {
      sum += std::fabs(double{samples.input(i)[0]} * w[0][c] + double{samples.input(i)[1]} * w[1][c] + w[2][c] -
                       double{samples.target(i)[c]});
    }
  }
  CHECK(trainer.score(batches.feed(), 8).loss == doctest::Approx(sum / 8).epsilon(1e-5));
  auto const losses = trainer.train(0, 100, batches.feed());
  CHECK(losses[0] == doctest::Approx(sum / 8).epsilon(1e-5));
  CHECK(losses.back() < losses[0] / 3);
  CHECK_THROWS_WITH_AS(Trainer<FindMedian>(1).train(0, 1, labelled.feed()),
                       "distance compares with numbers, but the feed has no targets; set Feed::targets", Error);
}

TEST_CASE("a set whose sizes do not fit its count is refused before it is read") {
  io::Samples samples = plane();
  CHECK_THROWS_WITH_AS(samples.add({1}, {1, 2}), "sample 8: 1 inputs, those before it have 2", Error);
  CHECK_THROWS_WITH_AS(samples.add({1, 2}, {1}), "sample 8: 1 targets, those before it have 2", Error);
  CHECK_THROWS_WITH_AS(samples.add({1, 2}, 3), "sample 8: 1 labels, those before it have 0", Error);
  samples.targets.pop_back();
  CHECK_THROWS_WITH_AS(session::Batches(samples, {}, 8), "a data set: 15 targets for 8 samples, not 16", Error);
  CHECK_THROWS_WITH_AS(session::Batches(io::Samples{}, {}, 8), "a data set: no samples", Error);
  io::Images images = io::draw_standin(4, 1);
  images.count = 5;
  CHECK_THROWS_WITH_AS(session::Batches(images, {}, 2), "a data set: 12288 input numbers for 5 samples, not 15360",
                       Error);
  images.count = 4;
  CHECK_THROWS_WITH_AS(session::Batches(images, session::Scaling{{0}, {1}}, 2),
                       "inputs of 3 channels, but means of 1 and deviations of 1: they are of another data set", Error);
}
