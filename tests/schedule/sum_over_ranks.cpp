// schedule/sum_over_ranks.cpp - the sums that all ranks of a group get: which tensors, how long, one of each rank or branches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/schedule/sum_over_ranks.hpp>

using namespace cleave;

namespace {

struct Net : Sequential<Image<3, 4, 4>, BatchNorm, Linear<4>, CrossEntropy> {};
template <int MicroBatches>
struct Normed : Plan<Net, Batch<12>, cleave::MicroBatches<MicroBatches>, DataParallel<Sync>> {};
struct Dense : Sequential<Vector<8>, Linear<8>, Relu, Linear<4>, CrossEntropy> {};
struct Halves : Plan<Dense, Batch<8>, ModelParallel<SplitColsRows>> {};

template <class P> schedule::SumOverRanks first(schedule::Do what, schedule::Ranks ranks) {
  for (int s = 0; s < P::schedule.steps; ++s) {
    if (P::schedule.step[s].what == what)
      return schedule::sum_over_ranks(schedule::program<P>, P::schedule.step[s], P::share(ranks), 0, 0);
  }
  return {};
}

}  // namespace

TEST_CASE("batch statistics: a rank brings one tensor if its micro-batches are one branch of the tree, else several") {
  auto const two = first<Normed<2>>(schedule::Do::Sum, {2, 1}), three = first<Normed<3>>(schedule::Do::Sum, {2, 1});
  CHECK(two.elements == 6);  // sum and sum of squares of three channels
  CHECK(two.group.size == 2);
  CHECK(two.one_each);
  CHECK(three.elements == 6);
  CHECK(!three.one_each);
  CHECK(two.from.in == schedule::Storage::BatchSum);
  CHECK(two.to.in == schedule::Storage::Statistic);
}
TEST_CASE("a product's partial sums: one of each way, of all samples") {
  auto const sum = first<Halves>(schedule::Do::Convert, {1, 2});
  CHECK(sum.group.size == 2);
  CHECK(sum.one_each);
  CHECK(sum.elements == 8 * 4);
}
TEST_CASE("a step that computes is no sum") { CHECK(first<Halves>(schedule::Do::Forward, {1, 2}).elements == 0); }
