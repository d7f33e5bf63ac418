// train/clip.cpp - gradients clipped by their norm over all weights: against the definition in f64, however a net is split.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <cmath>

#include "../io/scratch.hpp"
#include "signs.hpp"

using namespace cleave;

namespace {

struct Dense : Sequential<Vector<20>, Linear<24>, Relu, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
struct Mixed : Sequential<Image<2, 8, 8>, Conv<4, 3, Pad<1>>, Relu, MaxPool<2>, Conv<8, 3, Pad<1>, NoBias>, BatchNorm,
                          Relu, Linear<16>, LayerNorm, Relu, Linear<8>, Dropout<20>, Linear<4>, CrossEntropy> {};
struct Words : Sequential<Vector<5>, Embedding<9, 4>, Linear<4>, CrossEntropy> {};
struct Sums : Sequential<Vector<20>, Linear<24, SendFactors>, Relu, Linear<4>, CrossEntropy> {};

struct Plain : Sgd {};
struct Short : Momentum {  // all steps are clipped
  static constexpr float clip_norm = 0.05f, weight_decay = 0.01f;
};
struct Shorter : Adam {
  static constexpr float clip_norm = 0.05f;
};
struct Long : Momentum {  // none is
  static constexpr float clip_norm = 1e6f, weight_decay = 0.01f;
};
struct Decayed : Momentum {
  static constexpr float weight_decay = 0.01f;
};
struct Tight : Sgd {
  static constexpr double clip_norm = 0.05;
};

template <class N, class... Ps> struct Of : Plan<N, Batch<16>, MicroBatches<8>, Ps...> {
  static constexpr Rate rate = Rate::constant(0.1f);
};

template <class Trained> std::vector<double> state(Trained& t) {
  std::vector<double> all;
  for (session::Kept const& k : session::kept<typename Trained::plan>()) {
    for (auto v : session::whole(t, k)) all.push_back(static_cast<double>(v));
  }
  return all;
}
template <class P> backend::host::Feed feed() {
  backend::host::Feed f = signs::feed<P>();
  if constexpr (std::is_same_v<typename P::Net, Words>) {
    f.pixels = [](void const*, long step, long first, int count, float* out) {
      for (long s = 5 * first; s < 5 * (first + count); ++s) *out++ = static_cast<float>((step + s * s) % 9);
    };
  }
  return f;
}
template <class P> std::vector<double> after(int replicas, int steps) {
  INFO(replicas << " replicas x " << P::ways << " ways");
  Trainer<P> trainer(replicas, 11);
  trainer.train(0, steps, feed<P>());
  CHECK(session::miscounted(trainer, steps) == "");
  return state(trainer);
}
double far(std::vector<double> const& got, std::vector<double> const& wanted) {
  REQUIRE(got.size() == wanted.size());
  double most = 0;
  for (std::size_t i = 0; i < got.size(); ++i) most = std::max(most, std::fabs(got[i] - wanted[i]));
  return most;
}
/// Any number of replicas has the bits of one.
template <class P> std::vector<double> bits_of_one(int steps = 6) {
  auto const one = after<P>(1, steps);
  for (int n : {2, 3, 4}) CHECK(after<P>(n, steps) == one);
  return one;
}

/// One step of plain SGD at rate 0.1 gives back the gradient that it made; from it what a clipped step should be.
template <class N, class... Ps> void as_defined(int replicas) {
  auto const start = after<Of<N, Precision<f64>, Plain, Ps...>>(1, 0),
             free = after<Of<N, Precision<f64>, Plain, Ps...>>(1, 1),
             clipped = after<Of<N, Precision<f64>, Tight, Ps...>>(replicas, 1);
  long weights = 0;  // states stand behind them
  for (session::Kept const& k : session::kept<Of<N, Precision<f64>, Plain>>()) {
    if (k.region == backend::host::Region::Weights) weights += k.shape.size();
  }
  double squares = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(weights); ++i) {
    squares += (start[i] - free[i]) / 0.1f * ((start[i] - free[i]) / 0.1f);
  }
  double const scale = std::min(1.0, 0.05 / (std::sqrt(squares) + 1e-6));
  CHECK(scale < 0.5);
  double most = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(weights); ++i) {
    most = std::max(most, std::fabs(clipped[i] - (start[i] - scale * (start[i] - free[i]))));
  }
  CHECK(most < 1e-12);
}

}  // namespace

TEST_CASE("a clipped step is the step of the gradient times clip_norm over the norm, in f64") {
  as_defined<Dense>(1);
  as_defined<Dense, DataParallel<Sync>>(3);
  as_defined<Dense, ModelParallel<SplitCols>>(1);
  as_defined<Dense, ModelParallel<SplitRows>>(1);
  as_defined<Dense, DataParallel<Sync>, ModelParallel<SplitColsRows, Ways<4>>>(2);
  as_defined<Mixed, DataParallel<Sync>, OneWeirdTrick<2>>(2);
}
TEST_CASE("a norm below the one that is said changes no bit, and what is clipped is clipped before weights decay") {
  auto const free = after<Of<Dense, DataParallel<Sync>, Decayed>>(2, 6);
  CHECK(after<Of<Dense, DataParallel<Sync>, Long>>(2, 6) == free);
  CHECK(after<Of<Dense, Long>>(1, 6) == free);
  CHECK(far(after<Of<Dense, Short>>(1, 6), free) > 1e-2);
}
TEST_CASE("under Ordered 1 to 4 replicas have the bits of one, whichever layers share a message, in any rounds") {
  auto const one = bits_of_one<Of<Dense, DataParallel<Sync>, Short>>();
  CHECK(after<Of<Dense, Short>>(1, 6) == one);
  CHECK(bits_of_one<Of<Dense, DataParallel<Sync>, Short, Buckets<1500>>>() == one);
  CHECK(after<Of<Dense, DataParallel<Sync>, Short, Accumulate<2>>>(2, 6) == one);
  bits_of_one<Of<Mixed, DataParallel<Sync>, Shorter>>();
}
TEST_CASE("one micro-batch: weights are not stepped as their gradients are made") {
  struct Fused : Plan<Dense, Batch<16>, Short> {};
  struct Apart : Plan<Dense, Batch<16>, MicroBatches<1>, Short, DataParallel<Sync>> {};
  CHECK(after<Fused>(1, 6) == after<Apart>(1, 6));
}
TEST_CASE("bf16, tf32 and fp8: bits of one, near f32") {
  auto const full = after<Of<Dense, Short>>(1, 6);
  CHECK(far(bits_of_one<Of<Dense, DataParallel<Sync>, Short, Precision<bf16>>>(), full) < 1e-3);
  CHECK(far(bits_of_one<Of<Dense, DataParallel<Sync>, Short, Precision<tf32>>>(), full) < 3e-5);
  CHECK(far(bits_of_one<Of<Dense, DataParallel<Sync>, Short, Precision<fp8>>>(), full) < 6e-3);
}
TEST_CASE("split nets are clipped as the whole net: a weight that several ways have counts once") {
  auto const dense = after<Of<Dense, Short>>(1, 6);
  CHECK(far(after<Of<Dense, Short, ModelParallel<SplitCols>>>(1, 6), dense) < 1e-6);
  CHECK(far(after<Of<Dense, Short, ModelParallel<SplitRows, Ways<4>>>>(1, 6), dense) < 1e-6);
  CHECK(far(after<Of<Dense, Short, ModelParallel<SplitColsRows>>>(1, 6), dense) < 1e-6);
  CHECK(after<Of<Dense, Short, ModelParallel<SplitBatch>>>(1, 6) == dense);
  CHECK(far(after<Of<Dense, Short, DataParallel<Sync>, ModelParallel<SplitCols, Ways<4>>>>(2, 6), dense) < 1e-6);
  auto const mixed = after<Of<Mixed, Short>>(1, 6);
  CHECK(far(after<Of<Mixed, Short, DataParallel<Sync>, OneWeirdTrick<2>>>(2, 6), mixed) < 1e-5);
  CHECK(far(after<Of<Mixed, Short, OneWeirdTrick<4>>>(1, 6), mixed) < 1e-5);
}
TEST_CASE("rows, factors, routes and encoded gradients are clipped as they are stepped") {
  bits_of_one<Of<Words, DataParallel<Sync>, Short>>();
  bits_of_one<Of<Sums, DataParallel<Sync>, Short>>();
  auto const dense = after<Of<Dense, Short>>(1, 6);
  for (int n : {1, 2, 3}) {
    CHECK(far(after<Of<Dense, Short, DataParallel<Sync>, Fastest>>(n, 6), dense) < 1e-6);
    CHECK(far(after<Of<Dense, Short, DataParallel<Sync>, Fastest, ReduceBy<Ring>>>(n, 6), dense) < 1e-6);
    CHECK(far(after<Of<Dense, Short, DataParallel<Sync>, Fastest, Compress<Int8>>>(n, 6), dense) < 5e-4);
    CHECK(far(after<Of<Dense, Short, DataParallel<Sync>, Fastest, Compress<TopK<500>>>>(n, 6), dense) < 5e-3);
  }
}
TEST_CASE("resumed, clipped training has the bits of one that never stopped") {
  using P = Of<Dense, DataParallel<Sync>, ModelParallel<SplitCols>, Shorter>;
  scratch::Folder const folder;
  std::string const path = folder / "model.safetensors";
  Trainer<P> whole(2, 11), first(2, 11), then(1, 5);
  whole.train(0, 6, feed<P>());
  first.train(0, 3, feed<P>());
  session::save(first, path, 11);
  session::load(then, path);
  then.train(3, 3, feed<P>());
  CHECK(state(then) == state(whole));
}
