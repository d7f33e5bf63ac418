// modes.cpp - time to a target accuracy under one straggler model, for every agreement of replicas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// modes MNIST-FOLDER [OUT-FOLDER] [TARGET] [SEED]: prints a table in Markdown, writes modes.svg.
#include <cleave.hpp>
#include <cleave/io/chart.hpp>

#include <algorithm>

using namespace cleave;

namespace {

struct Mlp : Sequential<Image<1, 28, 28>, Linear<256>, Relu, Linear<10>, CrossEntropy> {};

// Eight replicas, or six that are all waited for. A gradient of 16 samples sleeps 2 ms, as if on a device of its own;
// one in thirty sleeps 40 ms. Of two rates the one that is there first.
struct All : Plan<Mlp, Batch<96>, MicroBatches<24>, DataParallel<Sync>, Shards<1>, Momentum> {
  static constexpr float rates[] = {0.02f, 0.05f};
  static constexpr auto name = "sync, 6 replicas";
  static constexpr int replicas_here = 6;
};
struct AllEight : Plan<Mlp, Batch<96>, MicroBatches<24>, DataParallel<Sync>, Shards<1>, Momentum> {
  static constexpr float rates[] = {0.02f, 0.05f};
  static constexpr auto name = "sync, 8 replicas";
  static constexpr int replicas_here = 8;
};
struct Spare : Plan<Mlp, Batch<96>, MicroBatches<24>, DataParallel<Sync, Spares<2>>, Momentum> {
  static constexpr float rates[] = {0.02f, 0.05f};
  static constexpr auto name = "sync, 8 replicas of which 2 are spare";
  static constexpr int replicas_here = 8;
};
struct Free : Plan<Mlp, Batch<16>, DataParallel<Async>, Sgd> {
  static constexpr float rates[] = {0.05f, 0.1f};
  static constexpr auto name = "async, 8 replicas";
  static constexpr int replicas_here = 8;
};
struct Damped : Plan<Mlp, Batch<16>, DataParallel<Async, Stale<Drop<16>, Damp>>, Sgd> {
  static constexpr float rates[] = {0.05f, 0.1f};
  static constexpr auto name = "async, damped by age, none older than 16";
  static constexpr int replicas_here = 8;
};
struct Bounded : Plan<Mlp, Batch<16>, DataParallel<StaleSynchronous<3>>, Sgd> {
  static constexpr float rates[] = {0.05f, 0.1f};
  static constexpr auto name = "stale-synchronous, bound 3";
  static constexpr int replicas_here = 8;
};
struct Local : Plan<Mlp, Batch<128>, MicroBatches<32>, DataParallel<LocalSGD<8>>, Momentum> {
  static constexpr float rates[] = {0.02f, 0.05f};
  static constexpr auto name = "local SGD, 8 steps";
  static constexpr int replicas_here = 8;
};

struct Outcome {
  double seconds = -1, accuracy = 0, age = 0;
  long gradients = 0, dropped = 0;
  io::Series curve;
};

struct Task {
  io::Images training, held_out;
  double target;
  std::uint64_t seed;

  template <class P> Outcome run(float rate) const {
    session::Scaling const scaling = session::Scaling::of(training);
    session::Batches batches(training, scaling, P::batch, seed, true), test(held_out, scaling, P::batch, seed, false);
    Served<P> t(P::replicas_here, seed);
    t.set_rate(Rate::constant(rate));
    t.before_push = [this](int r, long step, int) {
      tensor::Random const draw{seed, tensor::Purpose::Augment, static_cast<std::uint32_t>(r)};
      bool const slow = draw.below(30, static_cast<std::uint64_t>(step)) == 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(slow ? 40 : 2));
    };
    Outcome o;
    o.curve.name = P::name;
    // Look after as many samples in every mode; looking is not counted.
    int const steps = 96 * 60 / P::batch;
    double seconds = 0;
    for (long step = 0; seconds < 60 && o.seconds < 0; step += steps) {
      batches.shuffle(step / batches.steps_per_epoch());
      auto const begin = std::chrono::steady_clock::now();
      t.train(step, steps, batches.feed());
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      o.accuracy = t.accuracy(test.feed(), held_out.count);
      o.curve.x.push_back(seconds);
      o.curve.y.push_back(o.accuracy);
      if (o.accuracy >= target) o.seconds = seconds;
    }
    o.age = t.ledger().mean_age();
    for (long n : t.ledger().pushed) o.gradients += n;
    for (long n : t.ledger().dropped) o.dropped += n;
    return o;
  }
};

template <class P> void measure(Task const& task, std::vector<io::Series>& curves) {
  Outcome best;
  float best_rate = 0;
  for (float rate : P::rates) {
    try {
      Outcome const o = task.run<P>(rate);
      bool const better = best_rate == 0 || (o.seconds > 0 && (best.seconds < 0 || o.seconds < best.seconds)) ||
                          (o.seconds < 0 && best.seconds < 0 && o.accuracy > best.accuracy);
      if (better) {
        best = o;
        best_rate = rate;
      }
    } catch (Error const&) {  // it diverged at this rate
    }
  }
  char time[32] = "not reached";
  if (best.seconds > 0) std::snprintf(time, sizeof time, "%.1f", best.seconds);
  std::printf("| %s | %g | %s | %.2f | %ld | %ld | %.2f |\n", P::name, static_cast<double>(best_rate), time,
              100 * best.accuracy, best.gradients, best.dropped, best.age);
  std::fflush(stdout);
  curves.push_back(best.curve);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "modes MNIST-FOLDER [OUT-FOLDER] [TARGET=0.97] [SEED=1]\n");
    return 2;
  }
  try {
    Task task{io::read_mnist(argv[1], io::Split::Train), io::read_mnist(argv[1], io::Split::Test),
              argc > 3 ? std::atof(argv[3]) : 0.97, argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1};
    std::printf("| agreement | rate | seconds to %g %% | accuracy %% | gradients | dropped | mean staleness |\n",
                100 * task.target);
    std::printf("| --- | --- | --- | --- | --- | --- | --- |\n");
    std::vector<io::Series> curves;
    measure<All>(task, curves);
    measure<AllEight>(task, curves);
    measure<Spare>(task, curves);
    measure<Free>(task, curves);
    measure<Damped>(task, curves);
    measure<Bounded>(task, curves);
    measure<Local>(task, curves);
    std::string const out = argc > 2 ? argv[2] : ".";
    io::make_folder(out);
    io::write_line_chart(out + "/modes.svg", {"time to accuracy", "seconds", "held-out accuracy"}, curves);
  } catch (Error const& e) {
    std::fprintf(stderr, "modes: %s\n", e.what());
    return 2;
  }
  return 0;
}
