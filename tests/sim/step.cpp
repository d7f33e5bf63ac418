// sim/step.cpp - the modelled time of a step on other machines: overlap, buckets, all-reduce algorithms, saturation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/sim/step.hpp>

using namespace cleave;

namespace {

struct Net : Sequential<Vector<1024>, Linear<1024, NoBias>, Relu, Linear<1024, NoBias>, Relu, Linear<1024, NoBias>,
                        CrossEntropy> {};
template <class... Ps> struct Of : Plan<Net, Batch<8192>, MicroBatches<64>, DataParallel<Sync>, Fastest, Ps...> {};
using Gpu = Machine<10'000, Link<5'000, 10'000>>;  // 10 TFlop/s, 5 us, 10 GB/s
using Slow = Machine<10'000, Link<5'000, 1'000>>;  // the same on a tenth of the link
constexpr bool near(double a, double b) { return a - b < 1e-6 * b && b - a < 1e-6 * b; }

// One device: 8192 samples, three products forward, three for weights, two for inputs, 2 x 1024 x 1024 each.
constexpr double product = 2.0 * 1024 * 1024 / 10'000;
static_assert(near(sim::step<Gpu, Of<>>(1).compute, 8192 * 8 * product) && sim::step<Gpu, Of<>>(1).exposed == 0);
static_assert(near(sim::step<Gpu, Of<>>(4).compute, 2048 * 8 * product));

// The last message is exposed; earlier ones overlap with the layers that are still computed.
constexpr double message = 2 * 5'000 + 4.0 * 1024 * 1024 / 10;  // on 2 replicas: M bytes, in 2 rounds
constexpr auto layers = sim::step<Gpu, Of<>>(2), late = sim::step<Gpu, Of<Buckets<1_GiB>>>(2);
static_assert(near(late.exposed, 2 * 5'000 + 3 * 4.0 * 1024 * 1024 / 10));
static_assert(near(layers.exposed, message));
static_assert(layers.exposed < late.exposed && layers.total < late.total);
// Of tiny layers many messages are dearer than one.
struct Tiny : Sequential<Vector<16>, Linear<16>, Linear<16>, Linear<16>, Linear<16>, CrossEntropy> {};
template <class... Ps> struct Small : Plan<Tiny, Batch<64>, DataParallel<Sync>, Fastest, Ps...> {};
static_assert(sim::step<Gpu, Small<>>(4).exposed > 3 * sim::step<Gpu, Small<Buckets<1_MiB>>>(4).exposed);

// A norm over all gradients waits for all of them, and over ways for one number more.
struct Clipped : Sgd {
  static constexpr float clip_norm = 1;
};
static_assert(near(sim::step<Gpu, Of<Clipped>>(2).exposed, layers.exposed));
static_assert(near(sim::step<Gpu, Of<Clipped>>(2).total, layers.total));
static_assert(near(sim::step<Gpu, Of<Clipped, ModelParallel<SplitCols>>>(2).total,
                   sim::step<Gpu, Of<ModelParallel<SplitCols>>>(2).total + 2 * 5'000 + 8.0 / 10));

// What a machine says beside its products: each part by itself.
struct Measured : Gpu {
  static constexpr double memory_bytes = 1'000, start_ns = 300, half_flops = 20'000;
};
constexpr auto with_memory = sim::step<Measured, Of<>>(1);
static_assert(with_memory.compute > layers.compute + 8 * 300);
static_assert(near(with_memory.updating, 3 * 3 * 4.0 * 1024 * 1024 / 1'000));  // gradients; weights read and written
static_assert(near(with_memory.total, with_memory.compute + with_memory.updating));
static_assert(sim::step<Measured, Of<Precision<bf16>>>(1).compute < 0.51 * with_memory.compute);
static_assert(step_time<Of<>, Gpu> == sim::step<Gpu, Of<>>(1).total && step_time<Of<>, Gpu> < 20_ms);
static_assert(step_time<Of<>, Gpu, 2> == layers.total && 12_ms == 12'000_us && 1.5_us == 1'500);
static_assert(bottleneck<Of<>, Gpu> == Bottleneck::Compute);
static_assert(bottleneck<Of<>, Slow, 16> == Bottleneck::Gradients);
static_assert(bottleneck<Of<ModelParallel<SplitCols>>, Machine<10'000, Link<5'000, 10>>> == Bottleneck::Conversions);

// What is compressed waits less; a slower link more.
static_assert(sim::step<Slow, Of<Compress<OneBit>>>(8).exposed < sim::step<Slow, Of<>>(8).exposed / 10);
static_assert(sim::step<Slow, Of<>>(8).exposed > 5 * sim::step<Gpu, Of<>>(8).exposed);

// One more device stops helping sooner where the link is slower.
static_assert(sim::knee<Gpu, Of<>>(64) > sim::knee<Slow, Of<>>(64));
static_assert(sim::speedup<Gpu, Of<>>(2) > 1.3 && sim::speedup<Slow, Of<>>(2) < 1);
static_assert(sim::knee<Slow, Of<>>(64) == 1);
static_assert(sim::knee<Slow, Of<Compress<OneBit>>>(64) > 4);

}  // namespace

TEST_CASE("beyond the knee a step is no faster") {
  using P = Of<ReduceBy<Ring>>;
  constexpr int knee = sim::knee<Gpu, P>(64);
  static_assert(knee > 1 && knee < 64);
  double const best = sim::step<Gpu, P>(knee).total;
  for (int n = 1; n <= 64; ++n) CHECK(sim::step<Gpu, P>(n).total >= best);
}
