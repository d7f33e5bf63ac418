// train/freeze.cpp - frozen layers keep their weights, send nothing and take no backward pass, however the plan splits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "on_device.hpp"
#include "signs.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<20>, Linear<24>, Relu, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
struct Pictures : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>,
                             Residual<Conv<4, 3, Pad<1>>, Relu>, LayerNorm, Linear<24>, Relu, Linear<4>, CrossEntropy> {
};
struct Clip : Momentum {
  static constexpr float clip_norm = 0.05f, weight_decay = 0.1f;
};
template <class N, class... Ps> struct Of : Plan<N, Batch<24>, MicroBatches<8>, DataParallel<Sync>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

using Weights = std::vector<std::pair<std::string, std::vector<double>>>;
template <class Trained> Weights weights(Trained& t) {
  Weights all;
  for (session::Kept const& k : session::kept(session::description_of(t))) {
    auto const values = session::whole(t, k);
    all.emplace_back(k.name, std::vector<double>(values.begin(), values.end()));
  }
  return all;
}
bool moment_or_state(std::string const& name) {
  return name.find(".moment") != name.npos || name.find("running") != name.npos;
}
/// Trains; every tensor of the first layers is as before, and every other has changed.
template <class P> Weights trained(int replicas) {
  Trainer<P> t(replicas, 7);
  Weights const before = weights(t);
  t.train(0, 6, signs::feed<P>());
  CHECK(session::miscounted(t, 6) == "");
  Weights after = weights(t);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (moment_or_state(before[i].first)) continue;
    CAPTURE(before[i].first);
    bool const frozen = std::stoi(before[i].first) < P::frozen;
    CHECK((after[i].second == before[i].second) == frozen);
  }
  return after;
}
template <class P> void on_any_replicas() {
  Weights const one = trained<P>(1);
  for (int n : {2, 3, 4}) CHECK(trained<P>(n) == one);
}

template <class P> constexpr int backward_steps() {
  int n = 0;
  for (int s = 0; s < P::schedule.steps; ++s)
    n += P::schedule.step[s].what == schedule::Do::BackwardInput ||
         P::schedule.step[s].what == schedule::Do::BackwardWeight;
  return n;
}
// The products of layers 0 and 2 have no gradients; that of layer 4 has its weights' alone.
static_assert(traffic<Of<Net, Freeze<4>>>.elements_per_step < traffic<Of<Net>>.elements_per_step / 10);
static_assert(traffic<Of<Net, Freeze<4>>>.elements_per_step ==
              traffic<Of<Sequential<Vector<16>, Linear<4>, CrossEntropy>>>.elements_per_step);
static_assert(backward_steps<Of<Net, Freeze<4>>>() < backward_steps<Of<Net, Freeze<2>>>());
static_assert(backward_steps<Of<Net, Freeze<2>>>() < backward_steps<Of<Net>>());

}  // namespace

TEST_CASE("weights of frozen layers do not change, on any number of replicas") {
  on_any_replicas<Of<Net, Freeze<2>, Momentum>>();
  on_any_replicas<Of<Net, Freeze<3>, Clip>>();
  on_any_replicas<Of<Net, Freeze<4>, Adam, Precision<bf16>>>();
  on_any_replicas<Of<Net, Freeze<1>, Momentum, Buckets<1_MiB>>>();
  on_any_replicas<Of<Net, Freeze<1>, AdamW, Accumulate<2>>>();
  on_any_replicas<Of<Pictures, Freeze<5>, Clip>>();
}
TEST_CASE("split layers") {
  Weights const one = trained<Of<Net, Freeze<2>, Clip>>(1);
  auto const close = [&](Weights const& other) {
    REQUIRE(other.size() == one.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
      for (std::size_t k = 0; k < one[i].second.size(); ++k)
        CHECK(other[i].second[k] == doctest::Approx(one[i].second[k]).epsilon(1e-4).scale(0.1));
    }
  };
  close(trained<Of<Net, Freeze<2>, Clip, ModelParallel<SplitCols>>>(2));
  close(trained<Of<Net, Freeze<2>, Clip, ModelParallel<SplitColsRows>>>(2));
  close(trained<Of<Net, Freeze<2>, Clip, ModelParallel<SplitBatch>>>(2));
}
TEST_CASE("the first step changes the layers above as it would without frozen ones") {
  using P = Of<Net, Freeze<4>, Momentum>;
  Trainer<P> t(2, 7);
  Trainer<Of<Net, Momentum>> whole(2, 7);
  t.train(0, 1, signs::feed<P>());
  whole.train(0, 1, signs::feed<P>());
  Weights const a = weights(t), b = weights(whole);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (moment_or_state(a[i].first) || std::stoi(a[i].first) < 4) continue;
    CHECK(a[i].second == b[i].second);
  }
}
TEST_CASE("on a device") {
  using testing::as_on_threads;
  as_on_threads<testing::Of<testing::Mlp, DataParallel<Sync>, Freeze<2>, Clip>>(1e-5, {1, 2, 3});
  as_on_threads<testing::Of<testing::Net, DataParallel<Sync>, Freeze<2>, Adam>>(1e-4, {1, 2});
  as_on_threads<testing::Of<testing::Mlp, DataParallel<Sync>, Freeze<3>, Momentum, Fastest, Compress<Int8>>>(1e-4, {2});
}
