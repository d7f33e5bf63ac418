// parameter_server/per_replica.cpp - replicas with different batch sizes, whose shares of an update add up to 1.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <array>
#include <atomic>

#include "../train/signs.hpp"
#include "cleave/parameter_server/client.hpp"
#include "cleave/parameter_server/parameter_server.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<20>, Linear<24>, Relu, Linear<4>, CrossEntropy> {};
template <class... Ps> struct Of : Plan<Net, Batch<32>, Momentum, Ps...> {};
struct Even : Of<DataParallel<Sync>, MicroBatches<8>> {};
struct Uneven : Of<DataParallel<Sync, PerReplica<12, 4>>> {};
struct Served3 : Of<DataParallel<Sync, PerReplica<16, 8, 8>>, Shards<1>> {};
struct Wild : Of<DataParallel<Async, PerReplica<48, 16>>> {};
struct EvenSplit : Of<DataParallel<Sync>, MicroBatches<8>, ModelParallel<SplitColsRows>> {};
struct UnevenSplit : Of<DataParallel<Sync, PerReplica<12, 4>>, ModelParallel<SplitColsRows>> {};
struct ServedSplit : Of<DataParallel<Sync, PerReplica<16, 8, 8>>, Shards<1>, ModelParallel<SplitColsRows>> {};
struct WildSplit : Of<DataParallel<Async, PerReplica<48, 16>>, ModelParallel<SplitColsRows>> {};

static_assert(Uneven::replicas == 4 && Uneven::micro_batches == 8 && Served3::replicas == 3 && Wild::replicas == 0);
constexpr schedule::Share dealt = Uneven::share({4, 1});
static_assert(dealt.replica(0) == schedule::Range{0, 3} && dealt.replica(1) == schedule::Range{3, 6} &&
              dealt.replica(2) == schedule::Range{6, 7} && dealt.replica(3) == schedule::Range{7, 8});
// An arena for the largest batch of any replica.
static_assert(memory<Uneven>.total > memory<Even, 4>.total && memory<Uneven>.total < memory<Even, 2>.total);

template <class Trained> std::vector<float> weights(Trained& t) {
  std::vector<float> all;
  for (session::Kept const& k : session::kept<typename Trained::plan>()) {
    for (float v : session::whole(t, k)) all.push_back(v);
  }
  return all;
}
template <class Trained> std::vector<float> trained(int replicas) {
  Trained t(replicas, 7);
  t.train(0, 12, signs::feed<typename Trained::plan>());
  return weights(t);
}
double distance(std::vector<float> const& a, std::vector<float> const& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, double{std::abs(a[i] - b[i])});
  return worst;
}

/// The mean loss of ten steps: those of replicas of 48 and 16 samples, in turns of any order, differ too much one by
/// one.
double mean_of_ten(std::vector<double> const& losses, std::size_t first) {
  double sum = 0;
  for (std::size_t i = first; i < first + 10; ++i) sum += losses[i];
  return sum / 10;
}

/// Counts how often each sample of a run was asked for.
struct Asked {
  std::array<std::atomic<int>, 4096> times{};
  backend::host::Feed feed() const {
    return {this,
            [](void const* self, long step, long first, int count, float* out) {
              auto& me = *static_cast<Asked*>(const_cast<void*>(self));
              for (long s = first; s < first + count; ++s) ++me.times[static_cast<std::size_t>(step * 32 + s)];
              signs::feed<Wild>().pixels(nullptr, step, first, count, out);
            },
            signs::feed<Wild>().labels};
  }
  /// How many of [0, samples) were asked for exactly once.
  int once(int samples) const {
    int n = 0;
    for (int s = 0; s < samples; ++s) n += times[static_cast<std::size_t>(s)] == 1;
    return n;
  }
};

}  // namespace

TEST_CASE("synchronous replicas of uneven batches have the bits of one; with a server, up to rounding") {
  auto const whole = trained<Trainer<Even>>(1);
  CHECK(trained<Trainer<Uneven>>(4) == whole);
  CHECK(distance(trained<Served<Served3>>(3), whole) < 1e-5);
}
TEST_CASE("replicas of uneven batches whose layers are split over two ranks each") {
  auto const whole = trained<Trainer<EvenSplit>>(1);
  CHECK(trained<Trainer<UnevenSplit>>(4) == whole);
  CHECK(distance(trained<Served<ServedSplit>>(3), whole) < 1e-5);
  Served<WildSplit> t(4, 7);
  auto const losses = t.train(0, 80, signs::feed<WildSplit>());
  CHECK(mean_of_ten(losses, 70) < mean_of_ten(losses, 0));
}
TEST_CASE("a gradient is weighted by its number of samples") {
  // One of 48 and one of 16, next to each other, are the sum of those of two batches of 32.
  auto const& wild = session::service<Wild>;
  session::Replica large(wild, wild.part(0, 2), 7), small(wild, wild.part(1, 2), 7);
  struct Plain : Of<DataParallel<Async>, MicroBatches<2>> {};
  session::Replica first(session::service<Plain>, 1, 0, 7), second(session::service<Plain>, 1, 0, 7);
  auto const feed = signs::feed<Wild>();
  REQUIRE(large.micro_batches() == 3);
  REQUIRE(small.micro_batches() == 1);
  large.step(0, feed, 0.1, 0);
  small.begin_at(1);
  small.step(1, feed, 0.1, 0);
  first.step(0, feed, 0.1, 0);
  second.step(1, feed, 0.1, 0);
  for (long i = 0; i < Wild::schedule.weight_elements; ++i) {
    CHECK(large.at(0).outbox()[i] + small.at(0).outbox()[i] ==
          doctest::Approx(first.at(0).outbox()[i] + second.at(0).outbox()[i]).epsilon(1e-5));
  }
}
TEST_CASE("asynchronous replicas draw every sample once, whatever their batch sizes") {
  Asked asked;
  Served<Wild> t(4, 7);
  auto const losses = t.train(0, 40, asked.feed());
  auto const again = t.train(40, 40, asked.feed());
  CHECK(asked.once(80 * 32) == 80 * 32);
  long gradients = 0;
  for (long n : t.ledger().pushed) gradients += n;
  CHECK(gradients >= 80 * 32 / 48);
  CHECK(gradients <= 80 * 32 / 16 + 4);
  CHECK(mean_of_ten(again, 30) < mean_of_ten(losses, 0));
  CHECK_THROWS_WITH_AS(Served<Wild>(3, 7), doctest::Contains("PerReplica of 2 groups: replicas are a multiple"), Error);
}
TEST_CASE("clients in separate processes share the samples by the same rule") {
  session::ParameterServer<Wild> server(0, 2, 7);
  std::thread serving([&] { server.serve(); });
  Asked asked;
  auto const client = [&](int r) {
    session::Client<Wild> c({{"127.0.0.1", server.port()}}, "net", r, 2, 7);
    c.train(
        0, 40, asked.feed(), Rate::constant(0.05f), [](long) {}, [](long, double) {});
  };
  std::thread one([&] { client(1); });
  client(0);
  one.join();
  server.stop();
  serving.join();
  CHECK(asked.once(40 * 32) == 40 * 32);
}
