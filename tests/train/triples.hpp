// train/triples.hpp - how replicas agree x how layers are split x a number format: each trains a small net to what one rank
// gets, and stages of ZeRO to the same bits as plain data parallelism.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>
#include <cleave.hpp>

#include "signs.hpp"
#include "values.hpp"

namespace triples {

using namespace cleave;

struct Net : Sequential<Vector<16>, Linear<24>, Relu, Linear<16>, Tanh, Linear<4>, CrossEntropy> {};
/// Each layer is split in another way.
struct Mixed : Sequential<Vector<16>, Linear<24, ModelParallel<SplitCols>>, Relu, Linear<16, ModelParallel<SplitRows>>,
                          Tanh, Linear<4, ModelParallel<SplitBatch>>, CrossEntropy> {};

template <class N, class... Policies> struct Of : Plan<N, Batch<24>, Momentum, Policies...> {
  static constexpr Rate rate = Rate::constant(0.05f);
};
template <class P> using TrainerOf = std::conditional_t<P::served, Served<P>, Trainer<P>>;

template <class P> std::vector<double> trained(int replicas, int steps = 5) {
  TrainerOf<P> t(replicas, 7);
  if (steps > 0) t.train(0, steps, signs::feed<P>());
  return values(t);
}
inline double difference(std::vector<double> const& a, std::vector<double> const& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

/// Of a number format. `rounding`: how far weights may be from those of one rank, in units of how far training moves
/// them.
template <class Number> class Triples {
 public:
  explicit Triples(double rounding) : rounding_(rounding * difference(one_, trained<One>(1, 0))) {}

  template <class N, class... Split> void all(std::string const& split) {
    CAPTURE(split);
    auto const plain = near<N, 2, DataParallel<Sync>, Micro, Split...>("Sync");
    same<N, 3, 1, Split...>(plain);
    same<N, 2, 2, Split...>(plain);
    same<N, 4, 3, Split...>(plain);
    near<N, 3, DataParallel<Sync>, Micro, Shards<2>, Split...>("a server that is waited for");
    near<N, 1, DataParallel<Async>, Shards<2>, Split...>("Async");
    near<N, 1, DataParallel<StaleSynchronous<1>>, Split...>("StaleSynchronous");
    near<N, 1, DataParallel<Downpour<1, 1>>, Split...>("Downpour");
  }
  int count() const { return count_; }

 private:
  using Micro = MicroBatches<12>;
  template <class N, int replicas, class... Ps> std::vector<double> near(std::string const& agreement) {
    CAPTURE(agreement);
    auto const got = trained<Of<N, Precision<Number>, Ps...>>(replicas);
    CHECK(difference(got, one_) <= rounding_);
    ++count_;
    return got;
  }
  template <class N, int replicas, int stage, class... Split> void same(std::vector<double> const& plain) {
    CAPTURE(stage);
    CHECK(trained<Of<N, Precision<Number>, DataParallel<Sync, Zero<stage>>, Micro, Split...>>(replicas) == plain);
    ++count_;
  }

  using One = Of<Net, Precision<Number>, DataParallel<Sync>, Micro>;
  std::vector<double> const one_ = trained<One>(1);
  double const rounding_;
  int count_ = 0;
};

template <class Number> void each_triple(double rounding) {
  Triples<Number> t(rounding);
  t.template all<Net>("whole layers");
  t.template all<Net, ModelParallel<SplitCols, Ways<2>>>("columns");
  t.template all<Net, ModelParallel<SplitCols, Ways<4>>>("columns, four ways");
  t.template all<Net, ModelParallel<SplitRows, Ways<2>>>("rows");
  t.template all<Net, ModelParallel<SplitColsRows, Ways<2>>>("columns, then rows");
  t.template all<Net, ModelParallel<SplitColsRows, Ways<3>>>("columns, then rows, in unequal parts");
  t.template all<Net, ModelParallel<SplitBatch, Ways<2>>>("the batch");
  t.template all<Mixed, ModelParallel<Whole, Ways<2>>>("each layer in another way");
  t.template all<Net, ModelParallel<SplitAlong<SplitColsRows, SplitRowsCols>, Ways<2, 2>>>("blocks of two axes");
  t.template all<Net, ModelParallel<SplitAlong<SplitCols, SplitBatch>, Ways<3, 2>>>("unequal columns, and the batch");
  CHECK(t.count() == 80);
}

}  // namespace triples
