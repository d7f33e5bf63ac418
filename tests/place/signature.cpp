// place/signature.cpp - a model as values: shapes inferred, operations in order, the first broken law kept.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/layer/activation.hpp>
#include <cleave/layer/conv.hpp>
#include <cleave/layer/input.hpp>
#include <cleave/layer/loss.hpp>
#include <cleave/layer/norm.hpp>
#include <cleave/layer/residual.hpp>
#include <cleave/layer/sequential.hpp>
#include <cleave/place/signature.hpp>

using namespace cleave;

namespace {
template <class Net> constexpr auto of = place::signatures<Net>(typename Net::ops{});

struct Net : Sequential<Image<3, 8, 8>, Conv<4, 3>, Relu, BatchNorm, Residual<Conv<4, 1, NoBias>>, CrossEntropy> {};
constexpr auto& net = of<Net>;
static_assert(net.verdict.law == place::Law::None);
static_assert(net.op[0].name == "convolution" && net.op[0].y == Shape(4, 6, 6) && net.op[0].contracts);
static_assert(net.op[1].name == "bias" && net.op[1].mergeable && net.op[2].mergeable);
static_assert(net.op[3].sums_batch && net.op[4].stats_input && net.op[4].in1 == 3 && net.op[4].leaf == net.op[3].leaf);
static_assert(net.op[5].leaf == 3 && net.op[5].w[0].shape == Shape(4, 4, 1, 1));
static_assert(net.op[6].name == "add" && net.op[6].in0 == 5 && net.op[6].in1 == 4);

struct Small : Sequential<Image<3, 4, 4>, Conv<4, 5>, CrossEntropy> {};
static_assert(of<Small>.verdict.law == place::Law::Window && of<Small>.verdict.a == 4 && of<Small>.verdict.b == 5);
struct Flat : Sequential<Vector<48>, Conv<4, 5>, CrossEntropy> {};
static_assert(of<Flat>.verdict.law == place::Law::Dimensions && of<Flat>.verdict.leaf == 0);
struct Endless : Sequential<Vector<48>, Relu> {};
static_assert(of<Endless>.verdict.law == place::Law::Loss);
}  // namespace

TEST_CASE("a law's numbers are arguments of its type") {
  CHECK(!place::law_of<place::Law::Columns, 10, 4>::holds);
  CHECK(place::law_of<place::Law::Columns, 12, 4>::holds);
  CHECK(place::law_of<place::Law::None, 0, 0>::holds);
}
