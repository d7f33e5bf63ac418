// parameter_server/helpers.cpp - Sandblaster replicas over connections have the bits of threads, also when one of them dies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <array>
#include <atomic>
#include <thread>

#include "../io/scratch.hpp"
#include "../train/signs.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<5>, Linear<6>, Tanh, Linear<4>, CrossEntropy> {};
struct Train : Plan<Net, Batch<10>, DataParallel<Async>, Shards<3>> {};
struct WithDropout : Sequential<Vector<5>, Linear<6>, Tanh, Dropout<30>, Linear<4>, CrossEntropy> {};
struct Sparse : Plan<WithDropout, Batch<10>, DataParallel<Async>, Shards<3>> {};
struct Split : Plan<Net, Batch<10>, DataParallel<Async>, Shards<3>, ModelParallel<SplitColsRows>> {};
struct Other : Plan<Net, Batch<20>, DataParallel<Async>, Shards<3>> {};
template <class Loss> struct Of : Sequential<Vector<5>, Linear<6>, Tanh, Linear<4>, Loss> {};
struct ByClass : Plan<Of<WeightedCrossEntropy<50, 0, 450, 100>>, Batch<10>, DataParallel<Async>, Shards<3>> {};
struct BySample : Plan<Of<SampleWeighted<CrossEntropy>>, Batch<10>, DataParallel<Async>, Shards<3>> {};
constexpr int portions = 12;
using session::Hands;

/// A run of `ranks` processes, played by threads: `feed(rank)` is what each helper reads.
template <class P = Train> struct Run {
  template <class Feed> Run(int ranks, Feed feed) : door(backend::tcp::Socket::listen_on(0)) {
    for (int r = 1; r < ranks; ++r) {
      helpers.emplace_back([this, ranks, r, feed] {
        try {
          auto const helped = session::help<P>({"127.0.0.1", door.port()}, ranks, 3, 3, feed(r));
          made += helped.made;
          told += helped.finished;
        } catch (Error const&) {
          ++died;
        }
      });
    }
    Hands<P> hands = session::near<P>(1, 3);
    for (auto& far : session::gather<P>(door, ranks - 1, ranks, 3, std::chrono::seconds(30), {}, &finished)) {
      hands.push_back(std::move(far));
    }
    trainer = std::make_unique<Sandblaster<P>>(std::move(hands), portions, 3);
  }
  ~Run() { end(); }
  void end() {
    trainer.reset();
    for (auto& h : helpers) h.join();
    helpers.clear();
  }
  backend::tcp::Socket door;
  std::vector<std::thread> helpers;
  std::unique_ptr<Sandblaster<P>> trainer;
  std::atomic<long> made{0};
  std::atomic<int> died{0}, told{0};
  std::atomic<bool> finished{false};
};
/// The feed of `signs`, with the weight of its class for each sample.
backend::host::Feed weighted() {
  static backend::host::Feed const plain = signs::feed<BySample>();
  backend::host::Feed out = plain;
  out.sample_weights = [](void const*, long step, long first, int count, float* to) {
    std::vector<int> labels(static_cast<std::size_t>(count));
    plain.labels(plain.self, step, first, count, labels.data());
    for (int const c : labels) *to++ = std::array{0.5f, 0.f, 4.5f, 1.f}[static_cast<std::size_t>(c)];
  };
  return out;
}
template <class P = Train> std::vector<float> alone(int steps) {
  Sandblaster<P> t(1, portions, 3);
  for (int k = 0; k < steps; ++k) t.step(signs::feed<P>());
  return t.weights();
}

}  // namespace

TEST_CASE("two helpers over connections have the bits of one thread") {
  Run<> run(3, [](int) { return signs::feed<Train>(); });
  // A portion's time here is less than a message's; so that the helpers come to have some.
  run.trainer->before_finish(
      [](int r, int, int) { std::this_thread::sleep_for(std::chrono::milliseconds(r == 0 ? 5 : 0)); });
  for (int k = 0; k < 8; ++k) run.trainer->step(signs::feed<Train>());
  CHECK(run.trainer->weights() == alone(8));
  run.trainer->rest();
  auto const done = run.trainer->ledger();
  CHECK(done.taken == done.passes * portions);
  long const theirs = done.taken_from[1] + done.taken_from[2];
  CHECK(theirs > 0);
  run.end();
  CHECK(run.died == 0);
  CHECK(run.made >= theirs);
}
TEST_CASE("helpers and the coordinator's own replica with two ranks each have the bits of one such replica") {
  Run<Split> run(3, [](int) { return signs::feed<Split>(); });
  run.trainer->before_finish(
      [](int r, int, int) { std::this_thread::sleep_for(std::chrono::milliseconds(r == 0 ? 5 : 0)); });
  for (int k = 0; k < 4; ++k) run.trainer->step(signs::feed<Split>());
  CHECK(run.trainer->weights() == alone<Split>(4));
  auto const done = run.trainer->ledger();
  CHECK(done.taken_from[1] + done.taken_from[2] > 0);
  run.end();
  CHECK(run.died == 0);
}
TEST_CASE("weights of samples reach every replica") {
  Run<BySample> run(3, [](int) { return weighted(); });
  run.trainer->before_finish(
      [](int r, int, int) { std::this_thread::sleep_for(std::chrono::milliseconds(r == 0 ? 5 : 0)); });
  for (int k = 0; k < 4; ++k) run.trainer->step(weighted());
  CHECK(run.trainer->weights() == alone<ByClass>(4));
  CHECK(run.trainer->weights() != alone<BySample>(4));
  auto const done = run.trainer->ledger();
  CHECK(done.taken_from[1] + done.taken_from[2] > 0);
  run.end();
  CHECK(run.died == 0);
}
TEST_CASE("dropout draws by portion, wherever it is computed, and whichever steps of the feed it holds") {
  Sandblaster<Sparse> threads(1, portions, 3);
  auto const door = backend::tcp::Socket::listen_on(0);
  std::thread helper([&] { session::help<Sparse>({"127.0.0.1", door.port()}, 2, 3, 3, signs::feed<Sparse>()); });
  Hands<Sparse> far = session::gather<Sparse>(door, 1, 2, 3, std::chrono::seconds(30));
  {
    Sandblaster<Sparse> t(std::move(far), portions, 3);
    for (long first : {0L, 0L, 12L, 12L}) {
      t.step(signs::feed<Sparse>(), first);
      threads.step(signs::feed<Sparse>(), first);
    }
    CHECK(t.weights() == threads.weights());
  }
  helper.join();
}
TEST_CASE("the portion of a helper that dies halfway is given to others, and the bits stay") {
  struct Count {
    backend::host::Feed feed = signs::feed<Train>();
    std::atomic<int> mutable left{7};
  } const count;
  Run<> run(3, [&count](int r) {
    if (r != 1) return count.feed;
    auto dying = count.feed;
    dying.self = &count;
    dying.labels = [](void const* self, long step, long first, int samples, int* out) {
      auto const& mine = *static_cast<Count const*>(self);
      if (--mine.left < 0) throw Error("killed");
      mine.feed.labels(mine.feed.self, step, first, samples, out);
    };
    return dying;
  });
  run.trainer->before_finish(
      [](int r, int, int) { std::this_thread::sleep_for(std::chrono::milliseconds(r == 0 ? 5 : 0)); });
  for (int k = 0; k < 8; ++k) run.trainer->step(signs::feed<Train>());
  CHECK(run.trainer->weights() == alone(8));
  run.end();
  CHECK(run.died == 1);
}
TEST_CASE("helpers are told whether the run was finished when they are sent away") {
  for (bool const finished : {false, true}) {
    Run<> run(3, [](int) { return signs::feed<Train>(); });
    run.trainer->step(signs::feed<Train>());
    run.finished = finished;
    run.end();
    CHECK(run.told == (finished ? 2 : 0));
  }
}
TEST_CASE("helpers that do not come, and those of another plan, are told") {
  auto const door = backend::tcp::Socket::listen_on(0);
  CHECK_THROWS_WITH_AS(session::gather<Train>(door, 2, 3, 3, std::chrono::milliseconds(300)),
                       doctest::Contains("0 of 2 helpers have come to port"), Error);
  std::string said;
  std::thread stranger([&] {
    try {
      session::help<Other>({"127.0.0.1", door.port()}, 2, 3, 3, signs::feed<Other>(), std::chrono::seconds(5));
    } catch (Error const& e) {
      said = e.what();
    }
  });
  CHECK_THROWS_AS(session::gather<Train>(door, 1, 2, 3, std::chrono::milliseconds(1500)), Error);
  stranger.join();
  CHECK(said.find("the coordinator runs another plan") != std::string::npos);
}
TEST_CASE("a checkpoint holds the weights, to resume from or to be read by others") {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Sandblaster<Train> first(2, portions, 3), second(1, portions, 4);
  for (int k = 0; k < 3; ++k) first.step(signs::feed<Train>());
  session::save(first, path, 3);
  session::load(second, path);
  CHECK(second.weights() == first.weights());
  CHECK(second.iterations() == 3);
  double const loss = second.step(signs::feed<Train>());
  CHECK(loss < first.loss());
}
TEST_CASE("a checkpoint of replicas with two ranks each is one of replicas with one") {
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Sandblaster<Split> first(1, portions, 3), again(2, portions, 4);
  Sandblaster<Train> whole(1, portions, 4);
  for (int k = 0; k < 3; ++k) first.step(signs::feed<Split>());
  session::save(first, path, 3);
  session::load(again, path);
  CHECK(again.weights() == first.weights());
  session::load(whole, path);
  CHECK(whole.step(signs::feed<Train>()) < first.loss());
  CHECK(whole.iterations() == 4);
}
