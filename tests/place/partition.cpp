// place/partition.cpp - layers are cut into parts that cost about the same, at products, or where a plan says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/layer/activation.hpp>
#include <cleave/layer/conv.hpp>
#include <cleave/layer/input.hpp>
#include <cleave/layer/linear.hpp>
#include <cleave/layer/loss.hpp>
#include <cleave/layer/norm.hpp>
#include <cleave/layer/pin.hpp>
#include <cleave/layer/pool.hpp>
#include <cleave/layer/residual.hpp>
#include <cleave/layer/sequential.hpp>
#include <cleave/place/partition.hpp>

#include <doctest/doctest.h>
#include <vector>

using namespace cleave;

namespace {

template <class Net> constexpr auto model = place::signatures<Net>(layer::ops_of<Net>{});
/// The part of each layer.
template <class Net> std::vector<int> parts(int count, std::vector<int> const& first = {}) {
  auto const of = place::partition(model<Net>, count, first.data(), static_cast<int>(first.size()), count);
  std::vector<int> out;
  for (std::size_t k = 0; k < std::size(of.part); ++k) {
    auto const leaf = static_cast<std::size_t>(model<Net>.op[k].leaf);
    if (out.size() <= leaf) out.resize(leaf + 1);
    out[leaf] = of.part[k];
  }
  return out;
}
using Parts = std::vector<int>;

struct Equal : Sequential<Vector<8>, Linear<8>, Relu, Linear<8>, Relu, Linear<8>, Relu, Linear<8>, CrossEntropy> {};
struct Uneven
    : Sequential<Vector<64>, Linear<64>, Relu, Linear<8>, LayerNorm, Relu, Linear<8>, Relu, Linear<8>, CrossEntropy> {};
struct Picture : Sequential<Image<3, 8, 8>, Conv<4, 3, Pad<1>>, Relu, MaxPool<2>, Conv<8, 3, Pad<1>, NoBias>, Relu,
                            Linear<10>, CrossEntropy> {};

using L = Linear<8>;
template <class A, class B, class C, class D>
struct Four : Sequential<Vector<8>, A, Relu, B, Relu, C, Relu, D, CrossEntropy> {};

struct Skips : Sequential<Vector<8>, Linear<8>, Residual<Linear<8>, Relu, Linear<8>>, Linear<8>, CrossEntropy> {};

}  // namespace

TEST_CASE("a product costs its multiply-adds, anything else its elements") {
  auto const& op = model<Picture>.op;
  CHECK(place::cost(op[0]) == 8 * 8 * 4 * 3 * 3 * 3);  // then a bias, a map, a pool
  CHECK(place::cost(op[1]) == 8 * 8 * 4);
  CHECK(place::cost(op[3]) == 4 * 4 * 4);
  CHECK(place::cost(op[4]) == 4 * 4 * 8 * 4 * 3 * 3);
  CHECK(place::cost(op[6]) == 4 * 4 * 8 * 10);
}
TEST_CASE("the costliest part costs as little as possible; what follows a product stays with it") {
  CHECK(parts<Equal>(1) == Parts{0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(parts<Equal>(2) == Parts{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(parts<Equal>(3) == Parts{0, 0, 1, 1, 2, 2, 2, 2});
  CHECK(parts<Equal>(4) == Parts{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(parts<Uneven>(2) == Parts{0, 0, 1, 1, 1, 1, 1, 1, 1});
  CHECK(parts<Uneven>(3) == Parts{0, 0, 1, 1, 1, 1, 1, 2, 2});
  CHECK(parts<Picture>(2) == Parts{0, 0, 0, 1, 1, 1, 1});
}
TEST_CASE("more parts than products: any layer that is computed alone begins one, then any layer") {
  CHECK(parts<Uneven>(5) == Parts{0, 0, 1, 1, 1, 2, 2, 3, 4});
  CHECK(parts<Picture>(7) == Parts{0, 1, 2, 3, 4, 5, 6});
}
TEST_CASE("parts begin where a plan says") { CHECK(parts<Equal>(3, {1, 7}) == Parts{0, 1, 1, 1, 1, 1, 1, 2}); }
TEST_CASE("pinned layers are on their stage, and the others around them") {
  CHECK(parts<Four<Pin<0, L>, Pin<0, L>, Pin<0, L>, L>>(2) == Parts{0, 0, 0, 0, 0, 0, 1, 1});
  CHECK(parts<Four<L, Pin<1, L>, L, L>>(2) == Parts{0, 0, 1, 1, 1, 1, 1, 1});
  CHECK(parts<Four<L, L, Pin<1, L>, L>>(3) == Parts{0, 0, 0, 0, 1, 1, 2, 2});
  CHECK(parts<Four<L, Pin<1, L>, Pin<1, L>, L>>(3) == Parts{0, 0, 1, 1, 1, 1, 2, 2});
  CHECK(parts<Four<L, L, L, Pin<2, L>>>(3) == parts<Equal>(3));
  CHECK(parts<Sequential<Vector<8>, L, Pin<1, Relu, L>, Relu, L, CrossEntropy>>(2) == Parts{0, 1, 1, 1, 1, 1});
}
TEST_CASE("parts begin with other layers where pins want it, and only there") {
  using Maps = Sequential<Vector<8>, Pin<0, L>, Relu, Pin<2, L>, Relu, L, Relu, L, CrossEntropy>;
  CHECK(parts<Maps>(3) == Parts{0, 1, 2, 2, 2, 2, 2, 2});
  CHECK(parts<Sequential<Vector<8>, L, Relu, L, Relu, Pin<0, L>, CrossEntropy>>(2) == Parts{0, 0, 0, 0, 0, 1});
  using Refused = Sequential<Vector<8>, L, Prefer<5, Relu>, L, CrossEntropy>;
  CHECK(parts<Refused>(2) == parts<Sequential<Vector<8>, L, Relu, L, CrossEntropy>>(2));
  using Within = Sequential<Vector<8>, L, Residual<L, Prefer<7, Relu>, L>, L, CrossEntropy>;
  CHECK(parts<Within>(2) == parts<Skips>(2));
}
TEST_CASE("what cannot be kept is left for a law to tell") {
  auto const misplaced = []<class Net>(meta::type<Net>, int stages) {
    auto const on = place::partition(model<Net>, stages, nullptr, 0, stages);
    struct Op {
      int part;
    };
    struct {
      Op op[std::size(model<Net>.op)];
    } of{};
    for (std::size_t k = 0; k < std::size(on.part); ++k) of.op[k].part = on.part[k];
    return place::first_misplaced(model<Net>, of, stages);
  };
  using Back = Four<L, Pin<1, L>, Pin<0, L>, L>;
  CHECK(parts<Back>(2) == parts<Equal>(2));
  CHECK(misplaced(meta::type<Back>{}, 2) == 3);  // the second product: its stage is 0
  CHECK(misplaced(meta::type<Back>{}, 1) == -1);
  CHECK(misplaced(meta::type<Four<Pin<1, L>, L, L, L>>{}, 2) == 0);
  CHECK(misplaced(meta::type<Four<L, L, L, Pin<2, L>>>{}, 2) == 9);
  CHECK(misplaced(meta::type<Four<L, Pin<1, L>, L, L>>{}, 2) == -1);
  CHECK(misplaced(meta::type<Four<Prefer<1, L>, L, L, L>>{}, 2) == -1);
}
TEST_CASE("preferences are kept where pins and those before them leave room, the innermost of several") {
  CHECK(parts<Four<L, Prefer<1, L>, L, L>>(2) == Parts{0, 0, 1, 1, 1, 1, 1, 1});
  CHECK(parts<Four<L, Prefer<1, L>, Pin<0, L>, L>>(2) == Parts{0, 0, 0, 0, 0, 0, 1, 1});
  CHECK(parts<Four<L, Prefer<1, L>, Prefer<0, L>, L>>(2) == Parts{0, 0, 1, 1, 1, 1, 1, 1});
  CHECK(parts<Four<Prefer<1, L>, L, L, L>>(2) == parts<Equal>(2));
  CHECK(parts<Sequential<Vector<8>, Pin<1, Pin<0, L>, L>, L, CrossEntropy>>(2) == Parts{0, 1, 1, 1});
}
TEST_CASE("a skip connection is cut only if there are no other places") {
  CHECK(parts<Skips>(2) == Parts{0, 0, 0, 0, 0, 1, 1});
  CHECK(parts<Skips>(3) == Parts{0, 1, 1, 1, 1, 2, 2});
  CHECK(parts<Skips>(4) == Parts{0, 1, 1, 2, 2, 3, 3});
}
