// layer/sequential.cpp - a model is its layers' operations in order, and shapes are inferred, AlexNet's too.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {
struct Net
    : Sequential<Image<3, 32, 32>, Conv<64, 5, Pad<2>>, Relu, MaxPool<3, Stride<2>, Pad<1>>, Linear<10>, CrossEntropy> {
};
constexpr auto s = place::signatures<Net>(Net::ops{});
static_assert(s.op[0].y == Shape(64, 32, 32) && s.op[3].y == Shape(64, 16, 16) && s.op[4].x.size() == 64 * 16 * 16);

// The grouped architecture of 2012 has 60,965,224 parameters.
struct AlexNet : Sequential<Image<3, 227, 227>, Conv<96, 11, Stride<4>>, Relu, LocalResponseNorm<5>,
                            MaxPool<3, Stride<2>>, Conv<256, 5, Pad<2>, Groups<2>>, Relu, LocalResponseNorm<5>,
                            MaxPool<3, Stride<2>>, Conv<384, 3, Pad<1>>, Relu, Conv<384, 3, Pad<1>, Groups<2>>, Relu,
                            Conv<256, 3, Pad<1>, Groups<2>>, Relu, MaxPool<3, Stride<2>>, Linear<4096>, Relu,
                            Dropout<50>, Linear<4096>, Relu, Dropout<50>, Linear<1000>, CrossEntropy> {};
struct Alone : Plan<AlexNet, Batch<128>> {};
static_assert(Alone::schedule.weight_elements == 60'965'224);
}  // namespace

TEST_CASE("with one weird trick AlexNet's convolutions cut the batch and its dense layers their weights") {
  struct Weird : Plan<AlexNet, Batch<128>, OneWeirdTrick<2>> {};
  int convolutions = 0, products = 0;
  for (int k = 0; k < Weird::placed.count; ++k) {
    auto const& n = Weird::placed.node[k];
    if (n.op < 0 || !Weird::signatures.op[n.op].contracts) continue;
    bool const product = std::string_view(Weird::signatures.op[n.op].name) == "product";
    (product ? products : convolutions)++;
    CHECK(n.batch_axes.has(1) == !product);
    CHECK((n.w.on[1].kind == place::Kind::Shard) == product);
  }
  CHECK(convolutions == 5);
  CHECK(products == 3);
}
