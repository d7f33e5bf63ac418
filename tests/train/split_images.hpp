// train/split_images.hpp - nets on images and what they are trained to, beside the training of one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>
#include <cleave/train/emulated.hpp>

#include "signs.hpp"
#include "values.hpp"

namespace images {

using namespace cleave;

template <class N, class Replicas, class... Ps>
struct Around : Plan<N, Batch<12>, MicroBatches<6>, Momentum, Replicas, Ps...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};
template <class N, class... Ps> using Of = Around<N, DataParallel<Sync>, Ps...>;
template <int N> using Parts = ModelParallel<SplitPositions, Ways<N>>;

/// A class for each pixel, from a fourth of the rows and the whole image.
struct Segments
    : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, Relu,
                 Branches<Plus, Path<MaxPool<2>, Conv<6, 3, Pad<1>>, Relu, ConvTranspose<4, 4, Stride<2>, Pad<1>>>,
                          Path<Conv<4, 1>>>,
                 PixelsAsPositions, PerPosition<ParallelCrossEntropy>> {};

/// Labels by the signs of the first two numbers of a sample; of pixels by their own.
template <class P> backend::host::Feed feed() {
  backend::host::Feed from = signs::feed<P>();
  if constexpr (schedule::program<P>.labels > 1) {
    from.labels = [](void const*, long step, long first, int count, int* out) {
      constexpr int pixels = schedule::program<P>.labels;
      for (long s = first; s < first + count; ++s) {
        for (int i = 0; i < pixels; ++i) {
          long const sample = step * P::batch + s;
          *out++ = (signs::value(sample, i) > 0) + 2 * (signs::value(sample, pixels + i) > 0);
        }
      }
    };
  }
  return from;
}
/// Losses of three steps, then all that is kept. What is sent is what the constants say.
template <class Trained, class P = typename std::remove_cvref_t<Trained>::plan>
std::vector<double> trained(Trained&& t) {
  std::vector<double> out = t.train(0, 3, feed<P>());
  CHECK(session::miscounted(t, 3, 0) == "");
  std::vector<double> const kept = values(t);
  out.insert(out.end(), kept.begin(), kept.end());
  return out;
}
template <class P> std::vector<double> trained(int replicas) { return trained(Trainer<P>(replicas, 7)); }
template <class P> std::vector<double> on_device(int replicas) {
  return trained(DeviceTrainer<P, backend::emulate::Machine>(replicas, 7));
}
inline void near(std::vector<double> const& got, std::vector<double> const& wanted, double within) {
  REQUIRE(got.size() == wanted.size());
  double most = 0;
  for (std::size_t i = 0; i < got.size(); ++i) most = std::max(most, std::fabs(got[i] - wanted[i]));
  CHECK(most <= within);
}

}  // namespace images
