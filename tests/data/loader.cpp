// data/loader.cpp - rows of steps: each sample once an epoch, the same bits with any number of readers, read once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/loader.hpp>
#include <cleave/layer/input.hpp>

#include <atomic>
#include <set>

using namespace cleave;
using session::Loader;
using session::LoaderOptions;

namespace {

/// Counts how often each sample is read; sample `broken` cannot be.
struct Counted {
  using Input = Vector<3>;
  using Target = Class<4>;
  std::vector<std::atomic<int>>* reads;
  int broken = -1;
  int size() const { return static_cast<int>(reads->size()); }
  void read(long i, std::span<float> x, int& y) const {
    if (i == broken) throw Error("sample " + std::to_string(i) + " is torn");
    ++(*reads)[static_cast<std::size_t>(i)];
    for (int k = 0; k < 3; ++k) x[static_cast<std::size_t>(k)] = static_cast<float>(10 * i + k);
    y = static_cast<int>(i % 4);
  }
  void read(long i, Draw const& draw, std::span<float> x, int& y) const {
    read(i, x, y);
    x[2] = static_cast<float>(draw.below(1000, 0));
  }
};
struct Pairs {
  using Input = Vector<1>;
  using Target = Values<2>;
  int size() const { return 10; }
  void read(long i, std::span<float> x, std::span<float> y) const {
    x[0] = static_cast<float>(i);
    y[0] = -x[0], y[1] = 2 * x[0];
  }
};
LoaderOptions of(int batch, int readers, bool shuffled = true) {
  return {batch, 5, shuffled, readers, 1, {{"CrossEntropy", 4, op::Target::Class}}};
}
/// What `ranks` threads read in the steps of some epochs, each its rows of every batch: (step, row) -> inputs, label.
std::vector<float> read_all(Loader& loader, int batch, int ranks, int epochs, long first = 0) {
  long const each = loader.steps_per_epoch();
  std::vector<float> out(static_cast<std::size_t>(each * epochs * batch * 4));
  for (int e = 0; e < epochs; ++e) {
    loader.begin_epoch(e, first + e * each);
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        int const begin = batch * r / ranks, count = batch * (r + 1) / ranks - begin;
        std::vector<float> x(static_cast<std::size_t>(count) * 3);
        std::vector<int> y(static_cast<std::size_t>(count));
        auto const feed = loader.feed();
        for (long step = e * each; step < (e + 1) * each; ++step) {
          feed.pixels(feed.self, first + step, begin, count, x.data());
          feed.labels(feed.self, first + step, begin, count, y.data());
          for (int i = 0; i < count; ++i) {
            float* const to = &out[static_cast<std::size_t>(((step * batch) + begin + i) * 4)];
            std::copy_n(&x[static_cast<std::size_t>(i) * 3], 3, to);
            to[3] = static_cast<float>(y[static_cast<std::size_t>(i)]);
          }
        }
      });
    }
    for (auto& t : threads) t.join();
  }
  return out;
}

}  // namespace

TEST_CASE(
    "any number of readers and ranks reads the same rows; each epoch has each sample at most once, in its order") {
  std::vector<float> wanted;
  for (int readers : {0, 1, 3, 7}) {
    for (int ranks : {1, 2, 5}) {
      std::vector<std::atomic<int>> reads(43);
      Counted const data{&reads};
      Loader loader(session::source_of(data), {}, of(10, readers));
      CHECK(loader.steps_per_epoch() == 4);
      std::vector<float> const got = read_all(loader, 10, ranks, 3);
      if (wanted.empty()) {
        wanted = got;
        std::set<float> first, second, orders;
        for (std::size_t i = 0; i < 40; ++i) {
          first.insert(got[4 * i]);
          second.insert(got[4 * (40 + i)]);
          CHECK(got[4 * i + 3] == static_cast<float>(static_cast<int>(got[4 * i]) / 10 % 4));
        }
        CHECK(first.size() == 40);
        CHECK(second.size() == 40);
        CHECK(std::vector<float>(got.begin(), got.begin() + 160) !=
              std::vector<float>(got.begin() + 160, got.begin() + 320));
      }
      CHECK(got == wanted);
    }
  }
}
TEST_CASE("a sample is read once an epoch by the rank or by a reader, and its label is not read again") {
  for (int readers : {0, 2}) {
    std::vector<std::atomic<int>> reads(40);
    Counted const data{&reads};
    Loader loader(session::source_of(data), {}, of(8, readers));
    read_all(loader, 8, 2, 2);
    for (auto const& n : reads) CHECK(n == 2);
  }
}
TEST_CASE("steps are read ahead while none is asked for") {
  std::vector<std::atomic<int>> reads(40);
  Counted const data{&reads};
  Loader loader(session::source_of(data), {}, of(4, 1));
  loader.begin_epoch(0, 0);
  auto const feed = loader.feed();
  std::vector<float> x(12);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the reader waits until it knows which rows are needed
  feed.pixels(feed.self, 0, 0, 2, x.data());                   // of the rows that are asked for here, two more steps
  auto const read = [&] {
    int n = 0;
    for (auto const& r : reads) n += r;
    return n;
  };
  for (int wait = 0; wait < 10000 && read() < 6; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(read() == 6);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(read() == 6);
}
TEST_CASE("an epoch may begin at any step, and steps may be asked for again") {
  std::vector<std::atomic<int>> reads(40);
  Counted const data{&reads};
  Loader one(session::source_of(data), {}, of(8, 1)), two(session::source_of(data), {}, of(8, 1));
  CHECK(read_all(one, 8, 1, 2) == read_all(two, 8, 2, 2, 100));
  auto const feed = one.feed();
  std::vector<float> x(24), again(24);
  for (long step : {9, 5, 6, 9, 5}) {  // of the last epoch, which began at 5
    feed.pixels(feed.self, step, 0, 8, x.data());
    feed.pixels(feed.self, step, 0, 8, again.data());
    CHECK(x == again);
  }
}
TEST_CASE("inputs are scaled, variation is of training alone") {
  std::vector<std::atomic<int>> reads(8);
  Counted const data{&reads};
  session::Scaling const scaling{{10, 0, 0}, {2, 1, 1}};
  Loader loader(session::source_of(data), scaling, of(4, 1, false)), varied(session::source_of(data), {}, of(4, 1));
  loader.begin_epoch(0, 0);
  auto const feed = loader.feed();
  std::vector<float> x(12);
  feed.pixels(feed.self, 1, 0, 4, x.data());
  CHECK(x[0] == 15);
  CHECK(x[1] == 41);
  CHECK(x[2] == 42);
  feed.pixels(feed.self, 2, 0, 4, x.data());  // after the last sample comes the first one
  CHECK(x[0] == -5);
  std::vector<float> const got = read_all(varied, 4, 1, 2);
  int same = 0;
  for (std::size_t i = 0; i < 8; ++i) same += got[4 * i + 2] == got[4 * i] + 2;
  CHECK(same < 4);
  CHECK_THROWS_WITH_AS(Loader(session::source_of(data), session::Scaling{{1}, {1}}, of(4, 0)),
                       doctest::Contains("inputs of 3 channels, but means of 1"), Error);
}
TEST_CASE("targets come with their samples") {
  Pairs const data;
  Loader loader(session::source_of(data), {}, {5, 1, true, 1, 1, {{"", 2, op::Target::Numbers}}});
  loader.begin_epoch(0, 0);
  auto const feed = loader.feed();
  CHECK((feed.labels == nullptr));
  for (long step : {0, 1}) {
    float x[5], y[10];
    feed.targets(feed.self, step, 0, 5, y);
    feed.pixels(feed.self, step, 0, 5, x);
    for (int i = 0; i < 5; ++i) CHECK((y[2 * i] == -x[i] && y[2 * i + 1] == 2 * x[i]));
  }
}
TEST_CASE("a sample that cannot be read is told to the rank that needs it, and only then; others go on") {
  std::vector<std::atomic<int>> reads(40);
  Counted const data{&reads, 17};
  Loader loader(session::source_of(data), {}, of(4, 2));
  loader.begin_epoch(0, 0);
  auto const feed = loader.feed();
  int failed = 0;
  for (long step = 0; step < 10; ++step) {
    std::vector<float> x(12);
    try {
      feed.pixels(feed.self, step, 0, 4, x.data());
    } catch (Error const& e) {
      CHECK(std::string(e.what()) == "sample 17 is torn");
      ++failed;
    }
  }
  CHECK(failed == 1);
}
TEST_CASE("a label out of range is told with the sample's number") {
  std::vector<std::atomic<int>> reads(8);
  Counted const data{&reads};
  Loader loader(session::source_of(data), {}, {4, 1, false, 0, 1, {{"CrossEntropy", 3, op::Target::Class}}});
  auto const feed = loader.feed();
  std::vector<float> x(12);
  CHECK_THROWS_WITH_AS(feed.pixels(feed.self, 0, 0, 4, x.data()), doctest::Contains("sample 3: label 3"), Error);
}
