// spares.cpp - time to a loss on a virtual clock, with spare replicas and without, beside what theory says of a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// spares MNIST-FOLDER [LOSS=0.2] [SEED=1]: prints a table in Markdown; the same one every time.
#include <cleave.hpp>
#include <cleave/parameter_server/simulated.hpp>
#include <cleave/sim/late.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace cleave;

namespace {

struct Mlp : Sequential<Image<1, 28, 28>, Linear<32>, Relu, Linear<10>, CrossEntropy> {};
// A replica's gradient is of 10 samples and takes an exponential time, one second in the mean. As many samples a
// replica and step, whatever the number of those that are waited for; the rate goes with the batch.
template <int Waited, int Spare>
struct Train
    : Plan<Mlp, Batch<10 * Waited>, MicroBatches<Waited>, DataParallel<Sync, Spares<Spare>>, Shards<1>, Momentum> {
  static constexpr int replicas_here = Waited + Spare, spares = Spare;
  static constexpr Rate rate = Rate::constant(0.0005f * Waited);
};

struct Outcome {
  long steps = 0;
  double seconds = 0;
  std::uint64_t bits = 0xcbf29ce484222325u;  // of the weights, FNV-1a
};

template <class P> Outcome run(io::Images const& images, double target, std::uint64_t seed) {
  session::Batches batches(images, session::Scaling::of(images), P::batch, seed, true);
  Simulated<P> t(P::replicas_here, seed);
  t.delay = [&](int r, long step) {
    tensor::Random const draw{seed, tensor::Purpose::Augment, static_cast<std::uint32_t>(r)};
    return -std::log(1 - static_cast<double>(draw.uniform(static_cast<std::uint64_t>(step))));
  };
  constexpr int look = 20;
  Outcome o;
  for (double loss = 1e9; loss > target && o.steps < 20'000; o.steps += look) {
    batches.shuffle(o.steps / batches.steps_per_epoch());
    loss = 0;
    for (double l : t.train(o.steps, look, batches.feed())) loss += l / look;
  }
  o.seconds = t.now();
  std::vector<float> w(static_cast<std::size_t>(P::schedule.weight_elements));
  t.read(0, backend::host::Region::Weights, 0, P::schedule.weight_elements, w.data());
  for (float v : w) o.bits = (o.bits ^ __builtin_bit_cast(std::uint32_t, v)) * 0x100000001b3u;
  return o;
}
template <class P> void measure(io::Images const& images, double target, std::uint64_t seed, double& without) {
  Outcome const o = run<P>(images, target, seed), again = run<P>(images, target, seed);
  double const step = o.seconds / static_cast<double>(o.steps),
               theory = sim::exponential_step(P::replicas_here, P::spares);
  if (P::spares == 0) without = o.seconds;
  std::printf("| %d of %d | %ld | %.1f | %.3f | %.3f | %+.1f %% | %.2f | %016lx%s |\n", P::replicas_here - P::spares,
              P::replicas_here, o.steps, o.seconds, step, theory, 100 * (step / theory - 1), without / o.seconds,
              static_cast<unsigned long>(o.bits), o.bits == again.bits ? ", twice" : ", then other bits");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "spares MNIST-FOLDER [LOSS=0.2] [SEED=1]\n");
    return 2;
  }
  try {
    io::Images const images = io::read_mnist(argv[1], io::Split::Train);
    double const target = argc > 2 ? std::atof(argv[2]) : 0.2;
    std::uint64_t const seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
    std::printf(
        "| waits for | steps to a loss of %g | virtual seconds | a step | in theory | off by | faster | weights |\n",
        target);
    std::printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
    double without = 0;
    measure<Train<20, 0>>(images, target, seed, without);
    measure<Train<19, 1>>(images, target, seed, without);
    measure<Train<18, 2>>(images, target, seed, without);
    measure<Train<17, 3>>(images, target, seed, without);
    measure<Train<16, 4>>(images, target, seed, without);
  } catch (Error const& e) {
    std::fprintf(stderr, "spares: %s\n", e.what());
    return 2;
  }
  return 0;
}
