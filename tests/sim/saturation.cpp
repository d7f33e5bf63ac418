// sim/saturation.cpp - the model is the queue that it stands for, played out, also at reported efficiencies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ratio of computing to being served is read off each report; the queue, and the numbers between, test the model.
#include <doctest/doctest.h>
#include <cleave/sim/saturation.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using cleave::sim::Saturation;
using cleave::sim::saturation;

namespace {

constexpr bool near(double a, double b, double by) { return a - b < by && b - a < by; }

// Reported for dense models: 25 to 40 times on 50 devices. So it is where a gradient takes 25 to 41 times as long to
// compute as its bytes take at the servers.
static_assert(near(Saturation{25, 1}.speedup(50), 25, 0.5) && near(Saturation{41, 1}.speedup(50), 40, 0.5));
static_assert(near(Saturation{25, 1}.efficiency(50), 0.50, 0.01) && near(Saturation{41, 1}.efficiency(50), 0.80, 0.01));
// Reported for sparse ones: 300 times on 500 devices. A tenth of the bytes of a dense one in between gives that.
constexpr Saturation dense{30, 1}, sparse{30, 0.1};
static_assert(near(sparse.speedup(500), 300, 1) && near(sparse.efficiency(500), 0.60, 0.005));
// The ratios that give 6 times on 8, 32 times on 50 and 300 times on 500.
static_assert(near(Saturation{7.7, 1}.efficiency(8), 0.75, 0.01));
static_assert(near(Saturation{32, 1}.efficiency(50), 0.64, 0.01));
static_assert(near(Saturation{300, 1}.efficiency(500), 0.60, 0.01));

// It saturates at a few dozen devices where gradients are dense, at a few hundred where they are sparse.
static_assert(near(dense.knee(), 31, 1e-9) && near(sparse.knee(), 301, 1e-9));
static_assert(dense.speedup(24) > 0.9 * 24 * 0.9 && dense.speedup(100) < 31 && dense.speedup(200) < 31);
static_assert(sparse.speedup(200) > 190 && sparse.speedup(2000) < 301);
// Servers that share the bytes move it on.
static_assert(near(saturation(1e6, 1e6, 4, 1000).knee(), 5, 1e-9) &&
              near(saturation(1e6, 1e6, 1, 1000).knee(), 2, 1e-9));

/// The same, played: exponential times, one gradient at the server at a time, first come first served.
double played(Saturation const& s, int n, int gradients) {
  std::mt19937_64 draw(7);
  std::exponential_distribution<double> compute(1 / s.compute), service(1 / s.service);
  std::vector<double> ready(static_cast<std::size_t>(n));
  for (double& r : ready) r = compute(draw);
  double free = 0;
  for (int g = 0; g < gradients; ++g) {
    auto const next = std::min_element(ready.begin(), ready.end());
    free = std::max(free, *next) + service(draw);
    *next = free + compute(draw);
  }
  return gradients / free;
}

}  // namespace

TEST_CASE("the numbers that were reported come out of a queue of those ratios that is played out") {
  struct Reported {
    Saturation at;
    int devices;
    double times;
  };
  for (Reported const& r : {Reported{{25, 1}, 50, 25}, Reported{{41, 1}, 50, 40}, Reported{sparse, 500, 300},
                            Reported{{7.7, 1}, 8, 6}, Reported{{32, 1}, 50, 32}, Reported{{300, 1}, 500, 300}}) {
    CAPTURE(r.devices);
    CAPTURE(r.times);
    CHECK(played(r.at, r.devices, 400'000) * r.at.compute == doctest::Approx(r.times).epsilon(0.02));
  }
}
TEST_CASE("the model is the queue, played out; its knee is where the queue saturates, to one device") {
  for (Saturation const s : {Saturation{3, 1}, Saturation{7, 1}, Saturation{20, 1}}) {
    for (int n : {1, 2, 5, 10, 20, 40}) {
      CAPTURE(n);
      CHECK(played(s, n, 200'000) == doctest::Approx(s.throughput(n)).epsilon(0.02));
    }
    // As one would measure it: the rate that is never passed, over that of one.
    CHECK(std::fabs(played(s, 80, 200'000) / played(s, 1, 200'000) - s.knee()) < 1);
  }
}
