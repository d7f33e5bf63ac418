// train/parameter_groups.cpp - learning rates and weight decay by layer and by kind of weight, however the plan splits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include "on_device.hpp"
#include "signs.hpp"

using namespace cleave;

namespace {

struct Net : Sequential<Vector<20>, Linear<24>, LayerNorm, Relu, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
template <class Optimizer, class... Ps>
struct Of : Plan<Net, Batch<24>, MicroBatches<8>, DataParallel<Sync>, Optimizer, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};
constexpr ParameterGroup mixed(Parameter p) {
  return {.rate = p.layer == 0 ? 0.0f : p.layer < 5 ? 0.25f : 1.0f, .decay = p.is_matrix() ? 1.0f : 0.0f};
}
struct Decay : Sgd {
  static constexpr float weight_decay = 0.5f;
};
struct Mixed : Decay {
  static constexpr ParameterGroup group(Parameter p) { return mixed(p); }
};
struct MixedAdamW : AdamW {
  static constexpr float weight_decay = 0.5f, clip_norm = 0.5f;
  static constexpr ParameterGroup group(Parameter p) { return mixed(p); }
};
struct MixedMomentum : Momentum {
  static constexpr float weight_decay = 0.5f;
  static constexpr ParameterGroup group(Parameter p) { return mixed(p); }
};

struct Plain : Momentum {
  static constexpr float weight_decay = 0.5f;
};
struct All : Plain {
  static constexpr ParameterGroup group(Parameter) { return {}; }
};
template <class... Ps> struct ByServer : Plan<Net, Batch<24>, MicroBatches<8>, MixedMomentum, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

using Weights = std::vector<std::pair<std::string, std::vector<double>>>;
template <class Trained> Weights weights(Trained& t) {
  Weights all;
  for (session::Kept const& k : session::kept(session::description_of(t))) {
    auto const values = session::whole(t, k);
    if (k.name.find(".moment") == k.name.npos)
      all.emplace_back(k.name, std::vector<double>(values.begin(), values.end()));
  }
  return all;
}
template <class P> Weights trained(int replicas, int steps) {
  Trainer<P> t(replicas, 7);
  t.train(0, steps, signs::feed<P>());
  return weights(t);
}
void close(Weights const& a, Weights const& b, double within) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(a[i].first);
    for (std::size_t k = 0; k < a[i].second.size(); ++k)
      CHECK(a[i].second[k] == doctest::Approx(b[i].second[k]).epsilon(within).scale(0.1));
  }
}
/// A program of the same step by hand: three plans of one group each, of which every tensor is taken from its own.
template <class O> struct Still : O {
  static constexpr ParameterGroup group(Parameter) { return {.rate = 0}; }
};
template <class O> struct Slow : O {
  static constexpr ParameterGroup group(Parameter p) { return {.rate = 0.25f, .decay = p.is_matrix() ? 1.0f : 0.0f}; }
};
template <class O> struct Fast : O {
  static constexpr ParameterGroup group(Parameter p) { return {.decay = p.is_matrix() ? 1.0f : 0.0f}; }
};
}  // namespace

TEST_CASE("each tensor is stepped at its own rate and decay") {
  Weights const start = trained<Of<Decay>>(1, 0), one = trained<Of<Mixed>>(1, 1), plain = trained<Of<Sgd>>(1, 1);
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::string const& name = one[i].first;
    auto const& w = one[i].second;
    CAPTURE(name);
    int const layer = std::stoi(name);
    bool const matrix = layer != 1 && name.find("weight") != name.npos;
    double const rate = layer == 0 ? 0 : layer < 5 ? 0.25 : 1, decay = matrix ? 0.5 : 0;
    for (std::size_t k = 0; k < w.size(); ++k) {
      double const before = start[i].second[k], step = plain[i].second[k] - before;
      CHECK(w[k] == doctest::Approx(before + rate * (step - 0.05 * decay * before)).epsilon(1e-5));
    }
  }
}
TEST_CASE("a group for all weights changes nothing; groups of one plan are those of three") {
  CHECK(trained<Of<All>>(2, 5) == trained<Of<Plain>>(2, 5));
  Weights const mixed = trained<Of<MixedMomentum>>(2, 1), slow = trained<Of<Slow<Plain>>>(2, 1),
                fast = trained<Of<Fast<Plain>>>(2, 1), still = trained<Of<Still<Plain>>>(2, 1);
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    int const layer = std::stoi(mixed[i].first);
    CHECK(mixed[i].second == (layer == 0 ? still : layer < 5 ? slow : fast)[i].second);
  }
  CHECK(still == trained<Of<Sgd>>(1, 0));
}
TEST_CASE("any number of replicas, buckets, number formats and factors give the bits of one rank") {
  auto const same = [](auto plan) {
    using P = typename decltype(plan)::type;
    Weights const one = trained<P>(1, 5);
    for (int n : {2, 3, 4}) CHECK(trained<P>(n, 5) == one);
  };
  same(std::type_identity<Of<Mixed>>{});
  same(std::type_identity<Of<MixedAdamW>>{});
  same(std::type_identity<Of<MixedMomentum, Buckets<1_MiB>>>{});
  same(std::type_identity<Of<MixedMomentum, Precision<bf16>>>{});
  same(std::type_identity<Of<MixedMomentum, Freeze<1>, Accumulate<2>>>{});
}
TEST_CASE("one sample at a time, where weights are stepped as their gradients are computed") {
  struct One : Plan<Net, Batch<1>, MixedMomentum> {};
  struct AtOnce : Plan<Net, Batch<1>, DataParallel<Sync>, MixedMomentum> {};
  CHECK(trained<One>(1, 7) == trained<AtOnce>(1, 7));
}
TEST_CASE("split layers") {
  Weights const one = trained<Of<MixedMomentum>>(1, 5);
  close(trained<Of<MixedMomentum, ModelParallel<SplitCols>>>(2, 5), one, 1e-4);
  close(trained<Of<MixedMomentum, ModelParallel<SplitColsRows>>>(2, 5), one, 1e-4);
  close(trained<Of<MixedMomentum, ModelParallel<SplitBatch>>>(2, 5), one, 1e-4);
}
TEST_CASE("a server steps its shards by the same groups") {
  Weights const one = trained<Of<MixedMomentum>>(1, 5);
  CHECK(trained<ByServer<DataParallel<Async>, Shards<3>>>(1, 5) == one);
  close(trained<ByServer<DataParallel<Async>, Shards<3>, ModelParallel<SplitColsRows>>>(1, 5), one, 1e-4);
  close(trained<ByServer<DataParallel<Sync>, Shards<1>, ModelParallel<SplitColsRows>>>(2, 5), one, 1e-4);
}
TEST_CASE("on a device") {
  using testing::as_on_threads;
  as_on_threads<testing::Of<testing::Mlp, DataParallel<Sync>, MixedAdamW>>(1e-5, {1, 2, 3});
  as_on_threads<testing::Of<testing::Net, DataParallel<Sync>, MixedMomentum, Buckets<1_MiB>>>(1e-4, {1, 2});
  as_on_threads<testing::Of<testing::Mlp, DataParallel<Sync>, MixedMomentum, Precision<bf16>>>(2e-2, {1, 2});
}
TEST_CASE("the printed plan names the groups") {
  using P = Of<Mixed>;
  std::string const text = schedule::summary<P>(P::request.mesh.with_replicas(1));
  CHECK(text.find("rate x 0, weight decay x 1: 480 weights\n") != text.npos);
  CHECK(text.find("rate x 0.25, weight decay x 0: 64 weights\n") != text.npos);
  CHECK(schedule::summary<Of<Sgd>>(P::request.mesh.with_replicas(1)).find("rate x") == std::string::npos);
}
