// train/description.cpp - a plan's description says what the plan says; plans of one format share a trainer's code.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;
using session::description;

namespace {

struct Net : Sequential<Vector<8>, Linear<16>, Relu, Dropout<20>, Linear<4>, CrossEntropy> {};
struct Calm : Sequential<Vector<8>, Linear<16>, Relu, Linear<4>, CrossEntropy> {};
struct One : Plan<Net, Batch<24>, DataParallel<Sync>, Adam> {};
struct Other : Plan<Calm, Batch<16>, DataParallel<Sync>, Precision<bf16>, Mesh<Data<2>, Model<1>>> {};
struct Nodes : Plan<Calm, Batch<16>, DataParallel<Sync>, ReduceBy<Hierarchical<2>>, Fastest> {};
struct Third : Plan<Calm, Batch<8>> {};

}  // namespace

TEST_CASE("a description has the plan's numbers") {
  CHECK(description<One>.batch == 24);
  CHECK(description<One>.moments == 2);
  CHECK(description<One>.number == "f32");
  CHECK(description<One>.replicas == 0);
  CHECK(description<One>.program.weight_elements == One::schedule.weight_elements);
  CHECK(description<Other>.number == "bf16");
  CHECK(description<Other>.replicas == 2);
  CHECK(description<One>.share({3, 1}).replica(1).size() == One::share({3, 1}).replica(1).size());
}
TEST_CASE("a description says what draws random numbers, and which replicas fill a route's nodes") {
  CHECK(description<One>.draws);
  CHECK_FALSE(description<Other>.draws);
  CHECK_FALSE(description<One>.program.format.path);
  REQUIRE(description<Nodes>.program.format.path);
  CHECK(description<Nodes>.program.format.path.fits({4, 1, 4}));
  CHECK_FALSE(description<Nodes>.program.format.path.fits({3, 1, 4}));
}
TEST_CASE("trainers of plans of one number format have one base, which knows its plan") {
  Trainer<One> first(2);
  Trainer<Third> second(1);
  static_assert(std::is_same_v<decltype(session::common(first)), decltype(session::common(second))>);
  CHECK(&session::description_of(first) == &description<One>);
  CHECK(&session::description_of(second) == &description<Third>);
}
