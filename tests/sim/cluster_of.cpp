// sim/cluster_of.cpp - simulated devices of a plan beside the model of its step, and beside a trainer of the same times.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/parameter_server/simulated.hpp>
#include <cleave/sim/cluster_of.hpp>

#include <algorithm>

using namespace cleave;

namespace {

struct Net : Sequential<Vector<8>, Linear<4>, CrossEntropy> {};
struct Summed : Plan<Net, Batch<8>, DataParallel<Sync>, Sgd, MicroBatches<8>> {};
struct Spare : Plan<Net, Batch<12>, MicroBatches<6>, DataParallel<Sync, Spares<2>>, Shards<1>, Sgd> {};
struct Free : Plan<Net, Batch<4>, DataParallel<Async, Stale<Drop<9>>>, Shards<1>, Sgd> {};
struct Bounded : Plan<Net, Batch<4>, DataParallel<StaleSynchronous<2>>, Shards<1>, Sgd> {};
struct Paced : Plan<Net, Batch<4>, DataParallel<Downpour<2, 3>>, Shards<1>, Sgd> {};
using Lab = Machine<1, Link<500, 100>>;

backend::host::Feed const feed{
    nullptr, [](void const*, long, long, int count, float* out) { std::fill_n(out, count * 8, 0.1f); },
    [](void const*, long, long, int count, int* out) { std::fill_n(out, count, 1); }};

/// Times of a device's gradients in their order, for the trainer and for the simulation.
struct Times {
  double operator()(int device, long gradient, tensor::Words const&) const {
    return 1 + device * 0.01 + sim::exponential(sim::draw_of(5, device, gradient).a);
  }
};
/// The same decisions, at the same times, up to so many updates.
template <class P> void as_a_trainer(int replicas, int updates) {
  Simulated<P> trainer(replicas, 1);
  std::vector<long> made(static_cast<std::size_t>(replicas));
  trainer.delay = [&](int r, long) { return Times()(r, made[static_cast<std::size_t>(r)]++, {}); };
  sim::ClusterCounts told;
  double last = 0;
  trainer.told = [&](int, agree::Event const&, agree::Action const& a) {
    if (told.updates == updates) return;
    told.taken += a.what == agree::Done::Take;
    told.dropped += a.what == agree::Done::Drop;
    told.ages += a.what == agree::Done::Take ? a.age : 0;
    told.updates += a.what == agree::Done::Update;
    if (told.updates == updates) last = trainer.now();
  };
  trainer.train(0, 5 * updates, feed);
  sim::Cluster<typename P::agreed, 16, Times> cluster(replicas);
  sim::ClusterCounts const& counts = cluster.run(updates);
  CHECK(told.updates == updates);
  CHECK(counts.taken == told.taken);
  CHECK(counts.dropped == told.dropped);
  CHECK(counts.ages == told.ages);
  CHECK(counts.ns == last);
}

}  // namespace

TEST_CASE("without stragglers a simulated step is the model's") {
  CHECK(sim::cluster_of<Summed, Lab>(4).run(5).ns_per_update() == doctest::Approx(step_time<Summed, Lab, 4>));
  CHECK(sim::cluster_of<Summed, Lab>(8).run(5).ns_per_update() == doctest::Approx(step_time<Summed, Lab, 8>));
  constexpr sim::PlanOnDevices served = sim::on_devices<Free>(sim::speeds<Lab>(4), 3);
  static_assert(served.links.gradient_ns == 36 * 4 * 10 && served.links.weights_ns == 36 * 4 * 10);
  static_assert(served.links.exchange_ns == 0 && served.links.latency_ns == 500);
  sim::ClusterCounts const full = sim::cluster_of<Free, Lab>(64).run(1000);  // most gradients are too old
  CHECK(full.ns / static_cast<double>(full.taken + full.dropped) == doctest::Approx(1440).epsilon(0.02));
  CHECK(full.dropped > full.taken);
}
TEST_CASE("the server's link has pushes and weights, not what ways send each other") {
  struct Split : Plan<Sequential<Vector<8>, Linear<4>, Relu, Linear<4>, CrossEntropy>, Batch<16>, DataParallel<Async>,
                      ModelParallel<SplitCols, Ways<2>>> {};
  constexpr schedule::Traffic sent = traffic<Split>;
  static_assert(sent[op::Verb::Push] == 28 && sent.elements_per_step > 28);  // half of 56 weights
  constexpr sim::PlanOnDevices on = sim::on_devices<Split>(sim::speeds<Lab>(4), 3);
  static_assert(on.links.gradient_ns == 56 * 4 * 10 && on.links.weights_ns == 56 * 4 * 10);
}
TEST_CASE("devices that wait for each other have a micro-batch each") {
  CHECK_THROWS_AS((sim::cluster_of<Summed, Lab>(Summed::micro_batches + 1)), Error);
}
TEST_CASE("stragglers and failures come on top") {
  double const none = sim::cluster_of<Spare, Lab>(8).run(50).ns_per_update();
  CHECK(sim::cluster_of<Spare, Lab>(8, 1, {.late = 0.1, .delay_ns = none}).run(50).ns_per_update() > none);
  CHECK(sim::cluster_of<Spare, Lab>(8, 1, {}, {.share = 1}).run(50).failed);
}
TEST_CASE("a trainer whose gradients take the same times decides the same") {
  as_a_trainer<Spare>(8, 60);
  as_a_trainer<Free>(8, 60);
  as_a_trainer<Bounded>(5, 60);
  as_a_trainer<Paced>(4, 30);
}
