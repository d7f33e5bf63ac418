// train/half_the_bytes.cpp - gradients sent as bf16 are half the bytes, and training goes the same way.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <cmath>
#include <numeric>

using namespace cleave;

namespace {

struct Net : Sequential<Image<3, 32, 32>, Conv<16, 5, Pad<2>, Stride<2>>, Relu, Conv<32, 3, Pad<1>>, Relu, MaxPool<2>,
                        Linear<64>, Relu, Linear<10>, CrossEntropy> {};
template <class... Ps> struct On : Plan<Net, Batch<64>, MicroBatches<2>, DataParallel<Sync>, Fastest, Momentum, Ps...> {
  static constexpr int epochs = 8;
  static constexpr Rate rate = Rate::cosine(0.03f, epochs * 93).warm_up(50);
};
struct Outcome {
  double accuracy = 0, early = 0;  // the mean loss of steps 20 to 39
  long elements = 0, bytes = 0;
};
template <class P> Outcome trained(io::Images const& pictures, io::Images const& held_out) {
  session::Scaling const scaling = session::Scaling::of(pictures);
  session::Batches batches(pictures, scaling, P::batch, 1, true), test(held_out, scaling, P::batch, 1, false);
  Trainer<P> t(2, 1);
  int const steps = static_cast<int>(batches.steps_per_epoch());
  double early = 0;
  for (long epoch = 0; epoch < P::epochs; ++epoch) {
    batches.shuffle(epoch);
    auto const& losses = t.train(epoch * steps, steps, batches.feed());
    if (epoch == 0) early = std::accumulate(losses.begin() + 20, losses.begin() + 40, 0.0) / 20;
  }
  return {t.accuracy(test.feed(), held_out.count), early, t.sent(0), t.sent_bytes(0)};
}

}  // namespace

// What bf16 rounds shows in the first losses; a gradient that is lost or doubled moves them ten times as far. After
// eight epochs seeds alone move the accuracy by 2 points, so that one run tells no half point: the mean of many does,
// in benchmarks/results/accuracy.md. Here a run must come within 5.
TEST_CASE("f32 and bf16 gradients on the stand-in for CIFAR-10, two replicas") {
  io::Images const pictures = io::draw_standin(6000, 1), held_out = io::draw_standin(4000, 2);
  auto const whole = trained<On<>>(pictures, held_out), half = trained<On<Compress<bf16>>>(pictures, held_out);
  CHECK(whole.accuracy > 0.6);
  CHECK(half.accuracy > whole.accuracy - 0.05);
  CHECK(half.early == doctest::Approx(whole.early).epsilon(0.01));
  CHECK(half.elements == whole.elements);
  CHECK(2 * half.bytes == whole.bytes);
}
