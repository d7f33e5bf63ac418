// layer/norm.cpp - gradients, every cut of the input, any replicas; batch statistics of numbers that are far from zero.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/emulated.hpp>

using namespace cleave;

namespace {

/// Uniform numbers of deviation 0.7 around a mean.
template <class P> struct Far {
  double mean;
  backend::host::Feed feed() const {
    return {this,
            [](void const* self, long step, long first, int count, float* out) {
              long const n = P::Net::input::shape.size();
              tensor::Random const random{3, tensor::Purpose::Augment, 0};
              for (long i = 0; i < count * n; ++i) {
                double const u = random.uniform(static_cast<std::uint64_t>((step * P::batch + first) * n + i)) - 0.5;
                out[i] = static_cast<float>(static_cast<Far const*>(self)->mean + 0.7 * std::sqrt(12.0) * u);
              }
            },
            [](void const*, long, long first, int count, int* out) {
              for (int i = 0; i < count; ++i) out[i] = static_cast<int>((first + i) % 4);
            }};
  }
};

/// Losses of three steps, then all that a checkpoint holds.
template <class P, class Trained> std::vector<double> trained(Trained&& trainer, double mean) {
  Far<P> const far{mean};
  std::vector<double> all = trainer.train(0, 3, far.feed());
  CHECK(session::miscounted(trainer, 3) == "");
  for (session::Kept const& k : session::kept<P>()) {
    for (auto v : session::whole(trainer, k)) {
      all.push_back(static_cast<double>(v));
      if (k.name == "0.running_var") CHECK(v > 0);
    }
  }
  return all;
}
double furthest(std::vector<double> const& got, std::vector<double> const& wanted) {
  double most = 0;
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    most = std::max(most, std::fabs(got[i] - wanted[i]) / std::max(1.0, std::fabs(wanted[i])));
  return std::isnan(most) ? 1e300 : most;
}

struct Normed : Sequential<Image<3, 4, 4>, BatchNorm, Linear<4>, CrossEntropy> {};
// Two towers: what they compute is theirs up to the first layer that is not in groups.
template <class Norm>
struct Towers : Sequential<Image<2, 6, 6>, Conv<8, 3, Groups<2>, ModelParallel<SplitGroups>>, Relu, Norm,
                           Conv<4, 3, Groups<2>, ModelParallel<SplitGroups>>, Linear<4>, CrossEntropy> {};
template <class Norm>
struct TwoWays : Plan<Towers<Norm>, Batch<12>, MicroBatches<6>, DataParallel<Sync>, ModelParallel<Whole, Ways<2>>> {};
template <class Norm> struct OneWay : Plan<Towers<Norm>, Batch<12>, MicroBatches<6>, DataParallel<Sync>> {};
static_assert(traffic<TwoWays<LocalResponseNorm<3, Groups<2>>>, 1>.elements_per_step ==
              traffic<TwoWays<Relu>, 1>.elements_per_step);
static_assert(traffic<TwoWays<LocalResponseNorm<3>>, 1>.elements_per_step >
              traffic<TwoWays<Relu>, 1>.elements_per_step);
static_assert(std::is_same_v<LocalResponseNorm<3, AlexNetConstants>::ops, LocalResponseNorm<3, Groups<1>>::ops>);

template <class Number>
struct Normalised : Plan<Normed, Batch<24>, MicroBatches<12>, DataParallel<Sync>, Precision<Number>> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

}  // namespace

TEST_CASE("LocalResponseNorm") {
  {
    auto const report = check_layer<LocalResponseNorm<3>, Image<4, 3, 3>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("LocalResponseNorm in groups") {
  auto const report = check_layer<LocalResponseNorm<3, Groups<2>>, Image<6, 3, 3>>();
  CHECK_MESSAGE(report.ok, report.text);
  auto const constants = check_layer<LocalResponseNorm<4, AlexNetConstants, Groups<3>>, Image<9, 2, 2>>();
  CHECK_MESSAGE(constants.ok, constants.text);
}
TEST_CASE("towers that exchange nothing at a LocalResponseNorm in groups train as one rank") {
  using Norm = LocalResponseNorm<3, Groups<2>>;
  auto const one = trained<OneWay<Norm>>(Trainer<OneWay<Norm>>(1, 2), 1.0);
  auto const towers = trained<TwoWays<Norm>>(Trainer<TwoWays<Norm>>(2, 2), 1.0);
  CHECK(furthest(towers, one) < 1e-5);
  using Device = DeviceTrainer<TwoWays<Norm>, backend::emulate::Machine>;
  CHECK(furthest(trained<TwoWays<Norm>>(Device(2, 2), 1.0), one) < 1e-5);
  auto const other = trained<OneWay<LocalResponseNorm<3>>>(Trainer<OneWay<LocalResponseNorm<3>>>(1, 2), 1.0);
  CHECK(furthest(other, one) > 1e-7);
}
TEST_CASE("norms of channels of a sequence whose features come in parts see all of them") {
  for (auto const& report :
       {check_layer<BatchNorm, Sequence<4, 8>>(), check_layer<LocalResponseNorm<3, Groups<2>>, Sequence<4, 8>>()})
    CHECK_MESSAGE(report.ok, report.text);
}
TEST_CASE("BatchNorm of images") {
  {
    auto const report = check_layer<BatchNorm, Image<4, 3, 3>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("GhostBatchNorm of images and sequences") {
  for (auto const& report :
       {check_layer<GhostBatchNorm, Image<4, 3, 3>>(), check_layer<GhostBatchNorm, Sequence<4, 8>>()})
    CHECK_MESSAGE(report.ok, report.text);
}
TEST_CASE("BatchNorm in f32 far from zero: as in f64, and the same bits on any number of replicas and on a device") {
  using Single = Normalised<f32>;
  for (double mean : {300.0, 1000.0, 3000.0, 100000.0}) {
    CAPTURE(mean);
    auto const oracle = trained<Normalised<f64>>(Trainer<Normalised<f64>>(1, 2), mean);
    auto const one = trained<Single>(Trainer<Single>(1, 2), mean);
    CHECK(furthest(one, oracle) <= 2e-6);
    for (int n : {2, 3, 4}) CHECK(trained<Single>(Trainer<Single>(n, 2), mean) == one);
    using Device = DeviceTrainer<Single, backend::emulate::Machine>;
    auto const device = trained<Single>(Device(1, 2), mean);
    CHECK(furthest(device, oracle) <= 2e-6);
    for (int n : {2, 3}) CHECK(trained<Single>(Device(n, 2), mean) == device);
  }
}
TEST_CASE("RmsNorm") {
  for (auto const& report : {check_layer<RmsNorm, Vector<8>>(), check_layer<RmsNorm, Image<2, 3, 2>>()})
    CHECK_MESSAGE(report.ok, report.text);
}
TEST_CASE("LayerNorm") {
  {
    auto const report = check_layer<LayerNorm, Vector<8>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("GroupNorm: a layer has groups, and they divide the channels") {
  static_assert(!group_norm_has_groups<0>::holds && group_norm_has_groups<1>::holds);
  static_assert(place::shape_law<op::NormaliseGroups<3>>(Shape(4, 2, 2), {}, 7).law == place::Law::GroupsOfChannels);
  static_assert(place::shape_law<op::NormaliseGroups<2>>(Shape(4, 2, 2), {}, 7).law == place::Law::None);
}
TEST_CASE("GroupNorm: of images, of vectors, of all channels, of each channel") {
  for (auto const& report :
       {check_layer<GroupNorm<2>, Image<4, 3, 3>>(), check_layer<GroupNorm<3>, Vector<6>>(),
        check_layer<GroupNorm<1>, Image<4, 2, 3>>(), check_layer<GroupNorm<4>, Image<4, 2, 3>>()}) {
    CHECK_MESSAGE(report.ok, report.text);
  }
}
