// train/on_device.hpp - a plan on an emulated device held against the same plan on threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>
#include <cleave.hpp>
#include <numeric>
#include "signs.hpp"
#ifdef __CUDACC__
#include <cleave/train/cuda.hpp>
#else
#include <cleave/train/emulated.hpp>
#endif

namespace cleave::testing {

#ifdef __CUDACC__
using OnDevice = backend::cuda::Machine;
inline auto device(int) { return std::make_unique<OnDevice>(); }
#else
using OnDevice = backend::emulate::Machine;
inline auto device(int seed) { return std::make_unique<OnDevice>(static_cast<std::uint64_t>(seed)); }
#endif

struct Mlp : Sequential<Vector<20>, Linear<24>, Relu, Linear<16>, Gelu, Linear<4>, CrossEntropy> {};
struct Net : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, BatchNorm, Relu, MaxPool<2>, Linear<24>, LayerNorm, Tanh,
                        Dropout<20>, Residual<Linear<24>, Relu>, Linear<4>, CrossEntropy> {};
struct Other : Sequential<Image<2, 6, 6>, Conv<4, 3>, Sigmoid, LocalResponseNorm<3>,
                          Branches<Times, Path<>, Path<AvgPool<4>, Linear<4>, Sigmoid>>, AvgPool<2>, Linear<4>,
                          MeanSquaredError> {};

template <class N, class... Ps> struct Of : Plan<N, Batch<24>, MicroBatches<12>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};

using signs::feed;

struct Outcome {
  std::vector<double> losses, state;
  double accuracy = 0;
  std::string miscounted;
  friend bool operator==(Outcome const&, Outcome const&) = default;
};
template <class Trained, class P = typename std::remove_cvref_t<Trained>::plan>
Outcome outcome(Trained&& t, int steps = 3, backend::host::Feed const& from = feed<P>()) {
  Outcome o;
  o.losses = t.train(0, steps, from);
  auto const score = t.score(from, P::batch + 5);
  o.accuracy = score.checked_accuracy();
  if (!score.confusion.empty()) CHECK(std::reduce(score.confusion.begin(), score.confusion.end()) == P::batch + 5);
  o.miscounted = session::miscounted(t, steps, 2);
  CHECK(o.miscounted == "");
  bool const on_threads = !requires { t.machine(); };
  CHECK(t.exposed(0).has_value() == on_threads);
  CHECK(t.waited(0).has_value() == on_threads);
  for (session::Kept const& k : session::kept<P>()) {
    for (auto v : session::whole(t, k)) o.state.push_back(static_cast<double>(v));
  }
  return o;
}
/// The furthest that a loss, a weight, a moment or a state is from what is wanted.
inline double far(Outcome const& got, Outcome const& wanted) {
  REQUIRE(got.state.size() == wanted.state.size());
  double most = 0;
  for (std::size_t i = 0; i < got.state.size(); ++i) most = std::max(most, std::fabs(got.state[i] - wanted.state[i]));
  for (std::size_t i = 0; i < got.losses.size(); ++i)
    most = std::max(most, std::fabs(got.losses[i] - wanted.losses[i]));
  return most;
}
/// The same as on threads to rounding; the same bits whatever the number of ranks and whatever the order in which
/// kernels run that no event orders.
template <class P> void as_on_threads(double tolerance, std::initializer_list<int> replicas) {
  Outcome first;
  for (int r : replicas) {
    INFO(r << " replicas x " << P::ways << " ways");
    Outcome const got = outcome(DeviceTrainer<P, OnDevice>(r, 7, device(r)));
    Outcome const wanted = outcome(Trainer<P>(r, 7));
    CHECK(far(got, wanted) <= tolerance);
    CHECK(got.accuracy == doctest::Approx(wanted.accuracy).epsilon(0.05));
    if (first.state.empty()) {
      first = got;
    } else {
      CHECK(got == first);
    }
  }
}

}  // namespace cleave::testing
