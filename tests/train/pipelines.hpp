// train/pipelines.hpp - nets in stages, and what a run of a plan leaves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../io/scratch.hpp"
#include "signs.hpp"
#include "values.hpp"

using namespace cleave;

namespace {

struct Deep : Sequential<Vector<20>, Linear<24>, LayerNorm, Relu, Linear<16>, Tanh, Linear<16>, Relu, Linear<12>, Tanh,
                         Linear<12>, Relu, Linear<8>, Tanh, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
struct Pictures : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, Relu, MaxPool<2>, Conv<8, 3, Pad<1>>, Relu, Linear<24>,
                             Dropout<20>, Linear<4>, CrossEntropy> {};
/// Its skip passes from the first stage to the last, if there are stages at layers 2 and 4.
struct Skips : Sequential<Vector<20>, Linear<16>, Residual<Linear<16>, Tanh, Linear<16>, Tanh, Linear<16>>, Relu,
                          Linear<4>, CrossEntropy> {};
template <class N, class... Ps> struct Of : Plan<N, Batch<32>, MicroBatches<16>, DataParallel<Sync>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
template <class N, class... Ps>
struct InParts : Plan<N, Batch<32>, MicroBatches<16>, DataParallel<Sync, Zero<1>>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
struct Clipped : Adam {
  static constexpr float clip_norm = 0.05f;
};
template <int Stages, class... Order> using Stages_ = ModelParallel<SplitLayers<Stages, Order...>>;

/// Weights, moments and statistics after some steps, then the loss and the accuracy of an evaluation whose last batch
/// is cut; what was sent and what was allocated is what the constants say.
template <class P> std::vector<double> trained(int replicas, int steps = 4) {
  Trainer<P> t(replicas, 7);
  t.train(0, steps, signs::feed<P>());
  CHECK(session::miscounted(t, steps) == "");
  std::vector<double> out = values(t);
  auto const score = t.score(signs::feed<P>(), 3 * P::batch - 5);
  out.insert(out.end(), {static_cast<float>(score.loss), score.accuracy, static_cast<double>(score.samples)});
  out.push_back(t.train(steps, 1, signs::feed<P>())[0]);
  return out;
}
template <class N, class Split, class... Ps>
void as_one_rank(std::vector<double> const& wanted, std::initializer_list<int> replicas) {
  for (int n : replicas) {
    CAPTURE(n);
    CAPTURE(schedule::text::pipeline(schedule::program<Of<N, Split, Ps...>>));
    CHECK(trained<Of<N, Split, Ps...>>(n) == wanted);
  }
}
/// Each order once, with 2, 3 and 4 stages.
template <class N, class... Ps> void orders() {
  auto const wanted = trained<Of<N, Ps...>>(1);
  as_one_rank<N, Stages_<3, GPipe>, Ps...>(wanted, {1, 2});
  as_one_rank<N, Stages_<4>, Ps...>(wanted, {1, 2});
  as_one_rank<N, Stages_<2, Interleaved<2>>, Ps...>(wanted, {1, 2});
}

}  // namespace
