// report/memory_over_step.cpp - the memory in use in each line of a schedule, beside the block that a rank allocates.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <algorithm>

using namespace cleave;

namespace {
struct Small : Sequential<Vector<64>, Linear<256>, Relu, Linear<10>, CrossEntropy> {};
struct Deep : Sequential<Image<3, 16, 16>, Conv<8, 3>, Relu, MaxPool<2>, Residual<Conv<8, 3, Pad<1>>, BatchNorm, Relu>,
                         Linear<32>, Relu, Linear<10>, CrossEntropy> {};

template <class P> std::vector<long> in_use(int replicas) {
  return session::memory_over_step(schedule::program<P>, P::request_of(replicas), P::ranks_of(replicas));
}
template <class P> long total(int replicas) {
  return schedule::runtime_layout(schedule::program<P>, P::request_of(replicas), P::ranks_of(replicas)).memory.total;
}
}  // namespace

TEST_CASE("one number for each line; the most is nearly all of the memory of the rank") {
  struct Train : Plan<Small, Batch<32>, DataParallel<Sync>, Momentum> {};
  auto const bytes = in_use<Train>(2);
  CHECK(bytes.size() == static_cast<std::size_t>(schedule::program<Train>.steps));
  long const most = *std::max_element(bytes.begin(), bytes.end());
  CHECK((most <= total<Train>(2) && 100 * most > 99 * total<Train>(2)));
  CHECK(bytes.back() < total<Train>(2));  // activations are gone when weights are updated
}
TEST_CASE("no line has more than the rank, and each has what lives in all of them") {
  struct Train : Plan<Deep, Batch<16>, MicroBatches<4>, DataParallel<Sync>, ModelParallel<SplitCols, Ways<2>>, Adam> {};
  for (int const replicas : {1, 2, 4}) {
    auto const bytes = in_use<Train>(replicas);
    long const weights =
        schedule::runtime_layout(schedule::program<Train>, Train::request_of(replicas), Train::ranks_of(replicas))
            .memory[schedule::Category::Weights];
    for (long const b : bytes) CHECK((b <= total<Train>(replicas) && b > weights));
  }
}
TEST_CASE("a pipeline has none: its stages are in different lines at a time") {
  struct Train : Plan<Small, Batch<32>, ModelParallel<SplitLayers<2>>, Momentum> {};
  CHECK(in_use<Train>(1).empty());
}
