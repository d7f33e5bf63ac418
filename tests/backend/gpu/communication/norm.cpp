// backend/gpu/communication/norm.cpp - the scale of clipped gradients on a device, from the squares of all ways.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/communication/norm.hpp>

#include "ranks.hpp"

using namespace cleave;
using namespace cleave::testing;
namespace gpu = cleave::backend::gpu;

namespace {

struct Mlp : Sequential<Vector<6>, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
struct Clipped : Momentum {
  static constexpr float clip_norm = 0.5f;
};
struct Normed : Sequential<Vector<6>, Linear<8>, LayerNorm, Linear<4>, CrossEntropy> {};
template <class Net, class... Ps>
struct On : Plan<Net, Batch<12>, MicroBatches<6>, DataParallel<Sync>, Clipped, Ps...> {};
template <class... Ps> using Of = On<Mlp, Ps...>;

/// Each rank's scale, if all gradients of rank r are r + 1.
template <class P> std::vector<float> scales(int replicas) {
  RanksOf<P> of(replicas);
  gpu::Control<float> control{};
  using Machine = typename RanksOf<P>::Machine;
  gpu::Exchanges<typename P::number, Machine, gpu::AllHere> exchanges(of.all);
  gpu::DeviceGradients<typename P::number, Machine, gpu::AllHere> gradients(exchanges, &control);
  of.fill_gradients();
  for (int s = 0; s < P::schedule.steps; ++s) {
    if (P::schedule.step[s].what == schedule::Do::Start) gradients.reduce(P::schedule.step[s].node, s, 0);
  }
  gpu::put_norm(gradients, of.step(schedule::Do::Norm), 0);
  of.machine.finish();
  std::vector<float> all;
  for (auto const& one : of.all.all) all.push_back(*gradients.scale(one));
  return all;
}
float wanted(double squares) { return optim::clip_scale<Clipped, float>(squares); }

}  // namespace

TEST_CASE("one way: of the sum over the replicas") {
  constexpr double n = 6 * 8 + 8 + 8 * 4 + 4;
  CHECK(scales<Of<>>(1) == std::vector<float>(1, wanted(n)));
  CHECK(scales<Of<>>(3) == std::vector<float>(3, wanted(36 * n)));
  CHECK(scales<Of<Precision<bf16>>>(3) == std::vector<float>(3, wanted(36 * n)));
}
TEST_CASE("two ways: the squares of both, but once of what both have") {
  constexpr double n = (6 * 8 + 8 + 8 * 4 + 4) / 2;
  CHECK(scales<Of<ModelParallel<SplitCols>>>(1) == std::vector<float>(2, wanted(n + 4 * n)));
  CHECK(scales<On<Normed, ModelParallel<SplitCols>>>(1) == std::vector<float>(2, wanted(n + 2 * 8 + 4 * n)));
}
