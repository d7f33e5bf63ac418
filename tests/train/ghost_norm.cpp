// train/ghost_norm.cpp - GhostBatchNorm: of one micro-batch the training of BatchNorm; the same bits on any replicas, rounds,
// stages and stages of ZeRO; beside servers; running statistics are neither clipped nor decayed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/emulated.hpp>

#include "../io/scratch.hpp"
#include "signs.hpp"
#include "values.hpp"

using namespace cleave;

namespace {

template <class Norm>
struct With : Sequential<Image<2, 8, 8>, Conv<6, 3, Pad<1>>, Norm, Relu, MaxPool<2>, Linear<12>, Norm, Tanh, Linear<4>,
                         CrossEntropy> {};
using Ghost = With<GhostBatchNorm>;
template <class N, class... Ps> struct Of : Plan<N, Batch<24>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
template <class... Ps> struct Train : Of<Ghost, MicroBatches<8>, Ps...> {};
struct Small : Sequential<Image<2, 4, 4>, Conv<3, 1>, GhostBatchNorm, Relu, Linear<4>, CrossEntropy> {};
template <class... Ps> struct OfSmall : Plan<Small, Batch<8>, MicroBatches<4>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.02f);
};
struct Clipped : Adam {
  static constexpr float clip_norm = 0.05f;
};
struct Decays : AdamW {
  static constexpr float weight_decay = 10;
};

template <class P, class Trained = Trainer<P>> std::vector<double> trained(int replicas, int steps = 5) {
  Trained t(replicas, 7);
  t.train(0, steps, signs::feed<P>());
  CHECK(session::miscounted(t, steps) == "");
  std::vector<double> all = values(t);
  all.push_back(t.score(signs::feed<P>(), 3 * P::batch).loss);
  return all;
}
template <class P> using OnDevice = DeviceTrainer<P, backend::emulate::Machine>;
/// By name, of the first layer of norms and the second.
template <class Trained> std::vector<double> kept(Trained& t, std::string const& name) {
  for (auto const& k : session::kept<typename Trained::plan>()) {
    if (k.name != name) continue;
    auto const of = session::whole(t, k);
    return {of.begin(), of.end()};
  }
  throw Error({"no tensor ", name});
}
void near(std::vector<double> const& got, std::vector<double> const& wanted, double within) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(within).scale(1));
}

}  // namespace

TEST_CASE("of one micro-batch, the training and the running statistics of BatchNorm") {
  using P = Of<Ghost, Momentum, Precision<f64>>;
  using Q = Of<With<BatchNorm>, Momentum, Precision<f64>>;
  Trainer<P> ghost(1, 7);
  Trainer<Q> batch(1, 7);
  scratch::Folder const folder;
  session::save(batch, folder / "model.safetensors", 7);
  session::load_layers(ghost, folder / "model.safetensors", 8);  // BatchNorm's tensors by their names
  near(ghost.train(0, 6, signs::feed<P>()), batch.train(0, 6, signs::feed<Q>()), 1e-7);
  for (std::string const layer : {"1", "5"}) {
    for (std::string const name : {".running_mean", ".running_var", ".weight", ".bias"})
      near(kept(ghost, layer + name), kept(batch, layer + name), 1e-7);
  }
  double const wanted = batch.score(signs::feed<Q>(), 48).loss;
  CHECK(ghost.score(signs::feed<P>(), 48).loss == doctest::Approx(wanted).epsilon(1e-7));
}

TEST_CASE("the same bits on any replicas, in rounds, by ZeRO, over stages") {
  auto const one = trained<Train<Adam>>(1);
  for (int n : {2, 3, 4}) CHECK(trained<Train<Adam, DataParallel<Sync>>>(n) == one);
  CHECK(trained<Train<Adam, Accumulate<4>>>(1) == one);
  CHECK(trained<Train<Adam, DataParallel<Sync>, Accumulate<2>>>(2) == one);
  CHECK(trained<Train<Adam, DataParallel<Sync, Zero<1>>>>(3) == one);
  CHECK(trained<Train<Adam, DataParallel<Sync, Zero<2>>, Accumulate<2>>>(2) == one);
  CHECK(trained<Train<Adam, DataParallel<Sync, Zero<3>>>>(2) == one);
  CHECK(trained<Train<Adam, Accumulate<4>, ModelParallel<SplitLayers<2>>>>(1) == one);
  CHECK(trained<Train<Adam, ModelParallel<SplitBatch>>>(1) == one);
  auto const narrow = trained<Train<Adam, Precision<bf16>>>(1);
  CHECK(trained<Train<Adam, Precision<bf16>, DataParallel<Sync>>>(3) == narrow);
  // By Adam a gradient that is zero up to rounding, as of a bias before a norm, would be a whole step.
  near(trained<Train<Momentum, ModelParallel<SplitCols>>>(1), trained<Train<Momentum>>(1), 1e-4);
  // Without a sum that a pass waits for: gradients are all that is sent.
  static_assert(traffic<Train<Adam, DataParallel<Sync>>, 2>.messages ==
                Train<Adam, DataParallel<Sync>>::schedule.buckets);
}

TEST_CASE("on a device, the bits of one rank there") {
  auto const on_device = []<class P>(std::type_identity<P>, int n) { return trained<P, OnDevice<P>>(n, 2); };
  auto const one = on_device(std::type_identity<OfSmall<Adam>>{}, 1);
  CHECK(on_device(std::type_identity<OfSmall<Adam, DataParallel<Sync>>>{}, 3) == one);
  CHECK(on_device(std::type_identity<OfSmall<Adam, DataParallel<Sync, Zero<2>>, Accumulate<2>>>{}, 2) == one);
  near(on_device(std::type_identity<OfSmall<Momentum>>{}, 1), trained<OfSmall<Momentum>>(1, 2), 1e-4);
  CHECK(on_device(std::type_identity<OfSmall<Clipped, DataParallel<Sync>>>{}, 2) ==
        on_device(std::type_identity<OfSmall<Clipped>>{}, 1));
}

TEST_CASE("running statistics are means of what was seen: neither clipped nor decayed, nor counted in the norm") {
  auto const of = []<class P>(std::type_identity<P>) {
    Trainer<P> t(2, 7);
    t.train(0, 1, signs::feed<P>());
    return std::pair(kept(t, "1.running_mean"), kept(t, "1.running_var"));
  };
  using Plain = Train<Sgd, DataParallel<Sync>>;
  auto const wanted = of(std::type_identity<Plain>{});
  CHECK(of(std::type_identity<Train<Clipped, DataParallel<Sync>>>{}) == wanted);
  CHECK(of(std::type_identity<Train<Decays, DataParallel<Sync>>>{}) == wanted);
  CHECK(of(std::type_identity<Train<Decays, DataParallel<Sync>, Shards<1>>>{}) == wanted);
  CHECK(of(std::type_identity<Train<Clipped, DataParallel<Sync>, Shards<1>>>{}) == wanted);
  // From 0 and 1, a tenth of the way to the means over the micro-batches.
  Trainer<Plain> t(1, 7);
  auto const& mean = wanted.first;
  CHECK(std::any_of(mean.begin(), mean.end(), [](double m) { return m != 0; }));
  for (double v : wanted.second) CHECK(v > 0.9);
}

TEST_CASE("around a server, replicas that do not wait push the statistics of their samples") {
  auto const loss = []<class P>(std::type_identity<P>) {
    Trainer<P> t(2, 7);
    t.train(0, 150, signs::feed<P>());
    return t.score(signs::feed<P>(), 96).loss;
  };
  CHECK(trained<Train<Momentum, DataParallel<Sync>, Shards<1>>>(2) == trained<Train<Momentum, DataParallel<Sync>>>(2));
  CHECK(loss(std::type_identity<Train<Momentum, DataParallel<Async>>>{}) < 1.3);
  CHECK(loss(std::type_identity<Train<Momentum, DataParallel<LocalSGD<2>>>>{}) < 1.3);
  // The outer momentum of DiLoCo does not carry a mean past what was seen.
  using Outer = Train<Momentum, DataParallel<DiLoCo<4>>>;
  Trainer<Outer> outer(2, 7);
  outer.train(0, 40, signs::feed<Outer>());
  for (double v : kept(outer, "1.running_var")) CHECK(v > 0.1);
  CHECK(outer.score(signs::feed<Outer>(), 96).loss < 2);
  static_assert(plan::weights_by_age<Stale<ScaleRate<200>>>() && plan::weights_by_age<Stale<Drop<3>, Damp>>() &&
                !plan::weights_by_age<Stale<Drop<3>>>());
}

TEST_CASE("a checkpoint goes on with the same bits, and its tensors have BatchNorm's names") {
  scratch::Folder const folder;
  using P = Train<Adam, DataParallel<Sync>>;
  Trainer<P> whole(2, 7), first(2, 7), second(3, 8);
  whole.train(0, 6, signs::feed<P>());
  first.train(0, 4, signs::feed<P>());
  session::save(first, folder / "model.safetensors", 7);
  session::load(second, folder / "model.safetensors");
  second.train(4, 2, signs::feed<P>());
  CHECK(values(second) == values(whole));
}
