// layer/graph.cpp - who reads whom, through residuals and branches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {
struct Net : Sequential<Vector<4>, Relu, Residual<Tanh, Tanh>, Branches<Plus, Path<Relu>, Path<Tanh>>, BatchNorm,
                        CrossEntropy> {};
constexpr auto graph = [] {
  layer::Graph<Net::ops::size> g;
  Net::connect(g);
  return g;
}();
static_assert(Net::ops::size == 10 && graph.count == 10);
// relu; tanh tanh add; relu tanh add; sums norm; loss
static_assert(graph.in0[3] == 2 && graph.in1[3] == 0);
static_assert(graph.in0[4] == 3 && graph.in0[5] == 3 && graph.in0[6] == 4 && graph.in1[6] == 5);
static_assert(graph.in0[7] == 6 && graph.in0[8] == 6 && graph.in1[8] == 7 && graph.in0[9] == 8);
static_assert(layer::leaves<Net>::size == graph.leaves);
static_assert(std::is_same_v<meta::at<layer::leaves<Net>, 3>, Join<Plus>>);
static_assert(layer::number_in<Pad, meta::list<NoBias, Pad<3>>>::or_(1) == 3);
static_assert(layer::number_in<Stride, meta::list<NoBias, Pad<3>>>::or_(1) == 1);
}  // namespace

TEST_CASE("every operation has a layer") {
  for (int k = 1; k < graph.count; ++k) CHECK(graph.leaf[k] - graph.leaf[k - 1] <= 1);
}
