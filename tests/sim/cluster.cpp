// sim/cluster.cpp - simulated devices that train together, beside closed forms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/agree/async.hpp>
#include <cleave/agree/averaging.hpp>
#include <cleave/agree/sync.hpp>
#include <cleave/sim/cluster.hpp>
#include <cleave/sim/late.hpp>
#include <cleave/sim/saturation.hpp>

#include <cmath>

using namespace cleave;
using agree::Agreed;
using sim::Cluster;
using sim::ClusterCounts;
using sim::ClusterFailures;
using sim::ClusterLinks;
using sim::StepTimes;

namespace {

constexpr StepTimes exponential{.spread_ns = 1}, alike{.least_ns = 100};

struct OneSlow {
  double operator()(int device, long, tensor::Words const&) const { return device == 0 ? 300 : 100; }
};
struct Negative {
  double operator()(int, long, tensor::Words const&) const { return -1; }
};

}  // namespace

TEST_CASE("seed and times determine the result, and how far a run went before makes no difference") {
  StepTimes const times{.least_ns = 10, .spread_ns = 3, .late = 0.05, .delay_ns = 5, .delay_spread_ns = 20};
  ClusterLinks const links{.latency_ns = 1, .gradient_ns = 0.1, .weights_ns = 0.1, .exchange_ns = 2};
  ClusterFailures const failures{.share = 0.01, .repair_ns = 40};
  using Twenty = Cluster<Agreed<Sync, Spares<8>>, 20>;
  Twenty a(20, 7, times, links, failures), b(20, 7, times, links, failures), other(20, 8, times, links, failures);
  ClusterCounts const all = a.run(200);
  for (int i = 0; i < 20; ++i) b.run(10);
  CHECK(b.counts() == all);
  CHECK(other.run(200) != all);
  CHECK(all.updates == 200);
  CHECK(all.taken == 200 * 12);
  CHECK(all.dropped > 0);
  CHECK(all.failures > 0);
}
TEST_CASE("without stragglers a step takes what the formula says") {
  CHECK(Cluster<Agreed<Sync>, 64>(64, 1, alike).run(10).ns_per_update() == 100);
  CHECK(Cluster<Agreed<Sync>, 64>(64, 1, alike, {.exchange_ns = 30}).run(10).ns_per_update() == doctest::Approx(130));
  // Each of n gets its weights after those before it; the last one computes, and sends its gradient.
  Cluster<Agreed<Sync>, 8> served(8, 1, alike, {.latency_ns = 5, .gradient_ns = 2, .weights_ns = 3});
  double const first = served.run(1).ns;
  CHECK(first == doctest::Approx(100 + 5 + 8 * 2));
  CHECK(served.run(10).ns - first == doctest::Approx(10 * (8 * 3 + 5 + 100 + 5 + 2)));
}
TEST_CASE("a step of exponential times is the mean of the largest; with spares it is that of late replicas") {
  double harmonic = 0;
  for (int k = 1; k <= 100; ++k) harmonic += 1.0 / k;
  CHECK(Cluster<Agreed<Sync>, 100>(100, 1, exponential).run(500).ns_per_update() ==
        doctest::Approx(harmonic).epsilon(0.03));
  CHECK(Cluster<Agreed<Sync, Spares<2>>, 20>(20, 1, exponential).run(2000).ns_per_update() ==
        doctest::Approx(sim::exponential_step(20, 2)).epsilon(0.03));
  CHECK(Cluster<Agreed<Sync, Spares<5>>, 20>(20, 1, exponential).run(2000).ns_per_update() ==
        doctest::Approx(sim::exponential_step(20, 5)).epsilon(0.03));
}
TEST_CASE("replicas that do not wait make gradients n - 1 updates old, and saturate a server's link") {
  Cluster<Agreed<Async>, 16> free(16, 1, exponential);
  ClusterCounts const all = free.run(5000);
  CHECK(all.mean_age() == doctest::Approx(15).epsilon(0.02));
  CHECK(all.ns_per_update() == doctest::Approx(1.0 / 16).epsilon(0.05));
  constexpr sim::Saturation one{100, 10};
  for (int const n : {5, 10, 30}) {
    CAPTURE(n);
    Cluster<Agreed<Async>, 32> c(n, 1, alike, {.gradient_ns = 10});
    double const begin = c.run(3 * n).ns, updates = 50.0 * n;
    double const rate = updates / (c.run(50 * n).ns - begin);
    CHECK(rate == doctest::Approx(std::fmin(n / 110.0, 0.1)).epsilon(0.01));
    CHECK(rate >= one.throughput(n));  // which has a queue with random times
  }
}
TEST_CASE("a bound on the lead makes all as fast as the slowest; a limit of age drops what is older") {
  Cluster<Agreed<Async>, 4, OneSlow> unbounded(4);
  Cluster<Agreed<StaleSynchronous<3>>, 4, OneSlow> bounded(4);
  CHECK(unbounded.run(1000).ns_per_update() == doctest::Approx(1 / (3 / 100.0 + 1 / 300.0)).epsilon(0.02));
  CHECK(bounded.run(1000).ns_per_update() == doctest::Approx(300 / 4.0).epsilon(0.02));
  Cluster<Agreed<Async, Stale<Drop<4>>>, 4, OneSlow> young(4);
  ClusterCounts const& counts = young.run(300);
  CHECK(counts.dropped > 0);
  CHECK(counts.oldest <= 4);
}
TEST_CASE("replicas that average weights are waited for once in so many steps") {
  StepTimes const times{.spread_ns = 1};
  double const each = Cluster<Agreed<Sync>, 32>(32, 1, times).run(800).ns_per_update(),
               of_8 = Cluster<Agreed<LocalSGD<8>>, 32>(32, 1, times).run(100).ns_per_update() / 8;
  CHECK(of_8 < 0.6 * each);
  CHECK(of_8 > 1);
}
TEST_CASE("devices that fail: spares stand in, and with too few live ones the agreement says so") {
  StepTimes const times{.least_ns = 100};
  CHECK(Cluster<Agreed<Sync>, 8>(8, 1, times, {}, {.share = 0.01}).run(1000).failed);
  ClusterCounts const never = Cluster<Agreed<Sync, Spares<2>>, 8>(8, 1, times, {}, {.share = 0.01}).run(1000);
  CHECK(never.failed);
  CHECK(never.failures == 3);
  ClusterCounts const repaired =
      Cluster<Agreed<Sync, Spares<4>>, 8>(8, 1, times, {}, {.share = 0.01, .repair_ns = 150}).run(300);
  CHECK(!repaired.failed);
  CHECK(repaired.updates == 300);
  CHECK(repaired.failures == doctest::Approx(0.01 * 8 * 300).epsilon(0.5));
}
TEST_CASE("ten thousand devices") {
  Cluster<Agreed<Sync, Spares<100>>, 10'000> c(10'000, 1, {.least_ns = 100, .late = 0.003, .delay_ns = 50});
  ClusterCounts const& all = c.run(3);
  CHECK(all.taken == 3 * 9'900);
  CHECK(all.ns == 300);  // some thirty more are late in each update, and stay late
}
TEST_CASE("what cannot be simulated is an Error") {
  CHECK_THROWS_AS((Cluster<Agreed<Sync>, 4>(5)), Error);
  CHECK_THROWS_AS((Cluster<Agreed<Sync>, 4>(0)), Error);
  CHECK_THROWS_AS((Cluster<Agreed<Sync, Spares<2>>, 4>(2)), Error);
  CHECK_THROWS_AS((Cluster<Agreed<Sync>, 4, Negative>(4).run(1)), Error);
  CHECK_THROWS_AS((Cluster<Agreed<Async>, 4>(4, 1, {.least_ns = 5}, {}, {.share = 1, .repair_ns = 0})), Error);
  CHECK_THROWS_AS((Cluster<Agreed<Async>, 4>(4, 1, {.least_ns = 5}, {}, {.share = -0.1})), Error);
}
