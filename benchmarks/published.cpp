// published - results that others published, beside what the models of cleave/sim say of them: nothing is measured.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// published: prints a table in Markdown. Numbers of papers that were not at hand are printed as not verified.
#include <cleave/agree/async.hpp>
#include <cleave/agree/sync.hpp>
#include <cleave/sim/cluster.hpp>
#include <cleave/sim/saturation.hpp>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "published.hpp"

using namespace cleave;
using namespace bench;
using agree::Agreed;
using sim::Cluster;
using sim::ClusterLinks;
using sim::StepTimes;

namespace {

/// The mean step, in nanoseconds, of `Devices` of which `Spare` are not waited for, once it is steady.
template <int Devices, int Spare, class Times>
double step(Times const& times, int updates, std::uint64_t seed, ClusterLinks const& links = {}) {
  Cluster<Agreed<Sync, Spares<Spare>>, Devices, Times> c(Devices, seed, times, links);
  int const before = updates / 20;
  double const begin = c.run(before).ns;
  return (c.run(updates).ns - begin) / updates;
}
/// By the number of spares: `Waited` are waited for, or `All` are there.
template <int Waited, class Times, int... Spare>
auto with_more(Times const& t, int updates, std::uint64_t seed, std::integer_sequence<int, Spare...>) {
  return std::array{step<Waited + Spare, Spare>(t, updates, seed)...};
}
template <int All, class Times, int... Spare>
auto with_fewer_waited(Times const& t, int updates, std::integer_sequence<int, Spare...>) {
  return std::array{step<All, Spare>(t, updates, 1)...};
}

// ---- Abadi et al., "TensorFlow", OSDI 2016, figure 8c: 50 workers and b backups, Inception-v3.
void tensorflow(Table& out) {
  constexpr int most = 7, updates = 2000;
  auto const at = [](double late, double delay) {
    StepTimes const t{.least_ns = 1, .late = late, .delay_spread_ns = delay};
    return with_more<50>(t, updates, 1, std::make_integer_sequence<int, most>{});
  };
  auto const normal = [](auto const& t, int b) { return t[0] / t[static_cast<std::size_t>(b)] * 50 / (50 + b); };
  std::string best_of, shortest_of, constants = "late shares of";
  bool reached = true, shortest_reached = true;
  for (double const share : std::array{0.02, 0.04, 0.06, 0.08}) {
    StepTimes t{.least_ns = 1, .late = share};
    auto const of_three = [&](double delay) {
      t.delay_spread_ns = delay;
      return step<50, 0>(t, updates, 1) / step<53, 3>(t, updates, 1) * 50 / 53;
    };
    double const delay = solve(of_three, 1.095, 0.01, 0.6);
    auto const steps = at(share, delay);
    double const compute = 1.93 / steps[4];
    int best = 0;
    for (int b = 1; b < most; ++b) best = normal(steps, b) > normal(steps, best) ? b : best;
    int const shortest = static_cast<int>(std::min_element(steps.begin(), steps.end()) - steps.begin());
    best_of += text("%s%d", share > 0.02 ? ", " : "", best);
    shortest_of += text("%s%d or more (%.2f s)", share > 0.02 ? ", " : "", shortest, compute * steps[6]);
    reached = reached && best == 3;
    shortest_reached = shortest_reached && shortest == 4;
    constants += text("%s %.0f %% (%.2f s, %.2f s)", share > 0.02 ? "," : "", 100 * share, compute * delay, compute);
  }
  constants +=
      ", assumed; in brackets their mean delay, fitted on a speedup of 9.5 % at b = 3, and the other workers' "
      "compute, on 1.93 s at b = 4; messages take no time";
  out.line("TensorFlow, 50 + b workers: b of the best speedup by worker", "3", Known::Noted, best_of, "",
           reached ? Mark::Reached : Mark::Missed, constants);
  out.line("the same: b of the shortest step", "4 (1.93 s)", Known::Noted, shortest_of, "",
           shortest_reached ? Mark::Reached : Mark::Missed, "the same");
}

// ---- Chen et al., "Revisiting distributed synchronous SGD", 2016: N + b = 100 workers, Inception-v3.
struct Arrivals {
  double late, index;
  /// Seconds: 1.4 to 1.8 evenly; of late gradients, from 2 to 310 by a power law.
  double operator()(int, long, tensor::Words const& w) const {
    double const u = sim::uniform(w.a), shortest = 2, longest = 310;
    if (u < 1 - late) return 1.4 + 0.4 * u / (1 - late);
    double const beyond = std::pow(shortest / longest, index);
    return shortest * std::pow(1 - sim::uniform(w.b) * (1 - beyond), -1 / index);
  }
};
void chen(Table& out) {
  constexpr int most = 13, updates = 4000;
  double const late = 1 - std::pow(0.30, 0.01);
  auto const best = [](auto const& t) {
    int at = 0;
    auto const per_gradient = [&](int b) { return t[static_cast<std::size_t>(b)] / (100 - b); };
    for (int b = 1; b < most; ++b) at = per_gradient(b) < per_gradient(at) ? b : at;
    return at;
  };
  std::string abandoned, finished;
  bool abandoned_reached = true, finished_reached = true;
  auto const reaches = [](int b) { return b >= 3 && b <= 5; };
  int early = 0;
  for (double const index : std::array{1.0, 1.5, 2.0, 3.0}) {
    Arrivals const times{late, index};
    std::array<double, most> fresh{};
    std::array<double, 100> drawn{};
    early = 0;
    for (int s = 0; s < updates; ++s) {
      for (int d = 0; d < 100; ++d) drawn[static_cast<std::size_t>(d)] = times(d, s, sim::draw_of(1, d, s));
      std::sort(drawn.begin(), drawn.end());
      for (std::size_t b = 0; b < most; ++b) fresh[b] += drawn[99 - b] / updates;
      early += drawn[97] < 2;
    }
    int const of_fresh = best(fresh),
              of_run = best(with_fewer_waited<100>(times, updates, std::make_integer_sequence<int, most>{}));
    abandoned += text("%s%d", index > 1 ? ", " : "", of_fresh);
    finished += text("%s%d", index > 1 ? ", " : "", of_run);
    abandoned_reached = abandoned_reached && reaches(of_fresh);
    finished_reached = finished_reached && reaches(of_run);
  }
  out.number(
      "Chen et al., 100 workers: share of steps whose 98th gradient is there in 2 s", "%.2f", 0.80, Known::Recalled,
      1.0 * early / updates, 0.05,
      text("late share %.2f %%, fitted on the 100th being there in 2 s in 30 %% of steps, not verified", 100 * late));
  out.line("the same: best b, if late gradients are abandoned at each update", "4", Known::Noted, abandoned, "",
           abandoned_reached ? Mark::Reached : Mark::Missed,
           "the same late share; power laws of index 1, 1.5, 2, 3 from 2 s to 310 s and iterations as 1 / N, assumed");
  out.line("the same: best b, if they are finished first, as by `Spares`", "4", Known::Noted, finished, "",
           finished_reached ? Mark::Reached : Mark::Missed, "the same");
}

// ---- Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014: AlexNet on K20s.
void krizhevsky(Table& out) {
  // One tower: weights of convolutions and of dense layers; activations between dense layers; batch by GPU.
  constexpr double conv = 2.47e6, dense = 58.62e6, batch = 128, hours = 98.05, steps = 90 * 1'281'167 / batch;
  constexpr double step = hours * 3600 / steps, memory = 208e9;                  // bytes a second, of a K20
  constexpr auto bytes = [](int k) {                                             // each GPU receives so many
    double const activations = batch * (9216 + 4096 + 4096) * 2 + batch * 1000;  // there, and gradients back
    return 4 * ((k - 1) * activations + 2 * (k - 1.0) / k * conv);
  };
  // Gradient and weight read, weight written, momentum read and written.
  constexpr auto more_updates = [](int k) { return 5 * 4 * dense * (1 - 1.0 / k) / memory; };
  auto const speedup = [&](int k, double link, bool each) {
    double const sends = bytes(k) / (k > 4 ? link / 2 : link);
    return k * step / (step + sends + (each ? more_updates(k) : 0));
  };
  double const link = solve([&](double l) { return speedup(4, l, false); }, 98.05 / 26.20, 1e8, 1e11);
  std::string const constants = text(
      "link %.2f GB/s, fitted on 4 GPUs; half of that between two groups of 4, recalled from the paper; step %.3f s "
      "from 98.05 h on one GPU, which cancels; memory of a K20 208 GB/s",
      link / 1e9, step);
  struct Of {
    int gpus;
    double together, each;
  };
  for (Of const& o : std::array{Of{2, 50.24, 50.90}, Of{4, 26.20, 26.78}, Of{8, 15.68, 15.91}}) {
    Known const known = o.gpus == 8 ? Known::Noted : Known::Recalled;
    out.number(text("Krizhevsky, AlexNet on %d GPUs, one update of dense layers", o.gpus), "%.2f", hours / o.together,
               known, speedup(o.gpus, link, false), o.gpus == 4 ? 0 : 0.05, o.gpus == 2 ? constants : "the same");
    out.number(text("the same, an update of dense layers by 128 samples"), "%.2f", hours / o.each, Known::Recalled,
               speedup(o.gpus, link, true), 0.05);
  }
}

// ---- Horovod's and BytePS's read-me files.
/// Seconds not hidden by the backward pass, two thirds of the compute time.
double exposed(double sends, double compute) { return std::max(0.0, sends - compute * 2 / 3); }
void scaling(Table& out) {
  constexpr int n = 512;
  struct Net {
    char const* name;
    double weights, images;  // a second, by one P100, 64 at a time
    double published;
  };
  // TensorFlow's benchmarks of May 2017; ResNet-101 between ResNet-50 (219, 3.8 GFLOP) and -152 (91.8, 11.3 GFLOP).
  double const of_101 = 1 / (1 / 219.0 + (1 / 91.8 - 1 / 219.0) * (7.6 - 3.8) / (11.3 - 3.8));
  Net const inception{"Inception-v3", 23.8e6, 142, 0.90}, resnet{"ResNet-101", 44.5e6, of_101, 0.90},
      vgg{"VGG-16", 138.4e6, 154, 0.68};
  auto const efficiency = [](Net const& net, double spread, double link) {
    double const compute = 64 / net.images, ring = 2 * (n - 1.0) / n * 4 * net.weights / link;
    StepTimes const t{.least_ns = compute * (1 - spread), .spread_ns = compute * spread};
    return compute / step<n, 0>(t, 200, 1, {.exchange_ns = exposed(ring, compute)});
  };
  constexpr double line_rate = 25e9 / 8;
  double const spread = solve([&](double s) { return efficiency(inception, s, line_rate); }, 0.90, 0, 0.1);
  double const link = solve([&](double l) { return efficiency(vgg, spread, l); }, 0.68, 1e9, 5e9);
  std::string const rates = "images a second of one P100 from TensorFlow's benchmarks; two thirds of compute overlap";
  out.number("Horovod, 512 GPUs, Inception-v3: efficiency", "%.2f", 0.90, Known::Seen,
             efficiency(inception, spread, link), 0,
             text("%s; exponential part of compute %.1f %%, fitted here", rates.c_str(), 100 * spread));
  out.number("the same, ResNet-101", "%.2f", 0.90, Known::Seen, efficiency(resnet, spread, link), 0.05 / 0.90,
             "the same; its rate is interpolated");
  out.number("the same, VGG-16, at the line rate of 25 Gbit/s", "%.2f", 0.68, Known::Seen,
             efficiency(vgg, spread, line_rate), 0.05 / 0.68, "the same; nothing fitted on it");
  out.number("the same, VGG-16", "%.2f", 0.68, Known::Seen, efficiency(vgg, spread, link), 0,
             text("link %.1f Gbit/s, fitted here", link * 8e-9));
  // A ring sends 2 S; servers beside as many machines send and receive S at the same time.
  auto const faster = [](double weights, double images, double l) {
    double const compute = 64 / images, once = 4 * weights / l;
    return (compute + exposed(2 * once, compute)) / (compute + exposed(once, compute));
  };
  double const tcp = solve([&](double l) { return -faster(25.6e6, 360, l); }, -1.44, 9e8, 2.5e9);
  out.number("BytePS over Horovod, 20 Gbit/s, ResNet-50", "%.2f", 1.44, Known::Seen, faster(25.6e6, 360, tcp), 0,
             text("360 and 230 images a second of one V100, recalled; link %.1f Gbit/s, fitted here", tcp * 8e-9));
  out.number("the same, VGG-16", "%.2f", 2.0, Known::Seen, faster(138.4e6, 230, tcp), 0.05 / 2);
}

// ---- Dean et al., "Large scale distributed deep networks", NIPS 2012: one model over machines.
void distbelief(Table& out) {
  // In times of one machine's step of the dense net: messages to each other machine, and what does not divide.
  double const message = 1.0 / 64, rest = 1 / 2.2 - 1 / 8.0 - 7 * message;
  auto const dense = [&](int p) { return p == 1 ? 1 : 1 / (1.0 / p + (p - 1) * message + rest); };
  int peak = 1;
  for (int p = 2; p <= 128; ++p) peak = dense(p) > dense(peak) ? p : peak;
  out.number("DistBelief, 42 M weights, dense: machines of the largest speedup", "%.0f", 8, Known::Noted, peak, 0,
             text("a message %.4f and a step's fixed part %.3f of one machine's step: both fitted on these two",
                  message, rest));
  out.number("the same: speedup", "%.1f", 2.2, Known::Noted, dense(8), 0);
  double const work = 1.7e9 / 42e6;
  double const local = work / (work / 81 + 8 * message + rest);
  out.number("1.7 G weights, locally connected, 81 machines: speedup (published as more than)", "%.0f", 12,
             Known::Noted, local, 0.10, "the same two; 8 neighbours; compute as the weights; no load imbalance");
}

// ---- Dean's speedups of 2016, and 1-bit SGD (Seide et al. 2014).
void speedups(Table& out) {
  auto const fit = [](int n, double times) {
    return solve([&](double r) { return sim::Saturation{r, 1}.speedup(n); }, times, 0.1, 1e5);
  };
  double const ratio = fit(50, 32), sparse = 10 * ratio;
  sim::Saturation const dense{ratio, 1}, tenth{sparse, 1};
  out.number("Dean, Inception, 50 GPUs: speedup", "%.0f", 32, Known::Noted, dense.speedup(50), 0,
             text("compute %.1f times as long as a gradient and weights at the servers, fitted here", ratio));
  out.line("Dean, dense models, 50 GPUs", "25 to 40", Known::Noted, text("%.0f", dense.speedup(50)), "", Mark::Untested,
           "the same, and so no test");
  out.number("Dean, sparse models and RankBrain, 500 GPUs", "%.0f", 300, Known::Noted, tenth.speedup(500), 0.10,
             "the same; a tenth of its bytes, assumed");
  StepTimes const times{.spread_ns = sparse};
  Cluster<Agreed<Async>, 500> played(500, 1, times, {.gradient_ns = 1});
  double const begin = played.run(5000).ns, rate = 40'000 / (played.run(40'000).ns - begin);
  out.number("the same, as discrete events with a server that takes the same time for each", "%.0f", 300, Known::Noted,
             rate * sparse, 0.10, "the same");
  out.number("Dean, translation, 8 GPUs", "%.1f", 6, Known::Noted, dense.speedup(8), 0.10,
             text("the same ratio; with one of its own, %.1f, it would be fitted", fit(8, 6)));
  auto const range = [&](double knee, double low, double high) {
    return knee >= low && knee <= high ? Mark::Reached : Mark::Missed;
  };
  out.line("Dean: where another GPU stops helping, dense", "a few dozen", Known::Noted, text("%.0f", dense.knee()), "",
           range(dense.knee(), 24, 60), "the same");
  out.line("the same, sparse", "a few hundred", Known::Noted, text("%.0f", tenth.knee()), "",
           range(tenth.knee(), 200, 600), "the same");
  // 46 M weights on 8 GPUs. One GPU makes 27 / 3.6 thousand frames a second with 2,880, and 51 / 6.3 with 16,384.
  double const small = 27e3 / 3.6, large = 51e3 / 6.3;
  auto const eight = [](double frames, double one, double exchange) {
    return frames / (frames / 8 / one + exchange) / one;
  };
  double const exchange = solve([&](double e) { return eight(2880, small, e); }, 3.6, 1e-4, 1);
  out.number("1-bit SGD, 8 GPUs, 2,880 frames a step: speedup", "%.1f", 3.6, Known::Seen, eight(2880, small, exchange),
             0, text("an exchange takes %.0f ms, fitted here", 1e3 * exchange));
  out.number("the same, 16,384 frames a step", "%.1f", 6.3, Known::Seen, eight(16384, large, exchange), 0.10,
             "the same");
}

// ---- How fast it simulates.
template <int N> void speed(Table& out, long updates) {
  StepTimes const times{.least_ns = 100, .spread_ns = 10};
  double gradients = 0, seconds = 1e9;
  for (int i = 0; i < 5; ++i) {
    std::clock_t const begin = std::clock();
    Cluster<Agreed<Sync, Spares<N / 50>>, N> c(N, 1, times);
    gradients = static_cast<double>(c.run(updates).gradients);
    seconds = std::min(seconds, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  out.line(text("%d devices, %ld steps: gradients a second of processor time, best of 5", N, updates), "", Known::Seen,
           text("%.1e (%.2f s, measured)", gradients / seconds, seconds), "",
           gradients / seconds >= 1e7 ? Mark::Reached : Mark::Missed, "goal: 1e7");
}

}  // namespace

void plans(Table& out);  // published_plans.cpp

int main() {
  Table out;
  plans(out);
  tensorflow(out);
  chen(out);
  krizhevsky(out);
  scaling(out);
  distbelief(out);
  speedups(out);
  speed<100>(out, 20'000);
  speed<10'000>(out, 100);
  out.end();
  return 0;
}
