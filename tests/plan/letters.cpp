// plan/letters.cpp - a layer's own split goes before the plan's; convolutions and products may be told apart.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/layer/activation.hpp>
#include <cleave/layer/conv.hpp>
#include <cleave/layer/input.hpp>
#include <cleave/layer/linear.hpp>
#include <cleave/layer/loss.hpp>
#include <cleave/layer/sequential.hpp>
#include <cleave/plan/letters.hpp>

#include <string>

using namespace cleave;

namespace {
struct Net : Sequential<Image<3, 8, 8>, Conv<4, 3>, Relu, Linear<8>, Relu, Linear<4, NoBias, ModelParallel<Whole>>,
                        CrossEntropy> {};
template <class Policy, int axis = 0> std::string letters() {
  auto const of = plan::letters<Net, Policy, axis>(Net::ops{}, layer::leaves<Net>{});
  std::string out;
  for (char c : of.of) out += c;
  return out;
}
// convolution, bias, relu, product, bias, relu, product, loss
static_assert(Net::ops::size == 8);
}  // namespace

TEST_CASE("every operation's letter") {
  CHECK(letters<ModelParallel<SplitCols>>() == "ooooooWo");
  CHECK(letters<OneWeirdTrick<2>>() == "b~~~~~W~");  // only windows are told apart
}
TEST_CASE("every operation's letter on each of several axes") {
  using Two = ModelParallel<SplitAlong<SplitColsRows, SplitBatch>, Ways<2, 2>>;
  CHECK(letters<Two>() == "~~~~~~W~");
  CHECK(letters<Two, 1>() == "bbbbbbWb");
  CHECK(letters<ModelParallel<SplitCols>, 1>() == "ooooooWo");  // one split is for all axes
}
TEST_CASE("the ranks that cut samples are those of the axes on which a split is of samples") {
  using Sizes = Ways<2, 3>;
  using Leaves = layer::leaves<Net>;
  CHECK(plan::ways_that_cut_samples<ModelParallel<SplitAlong<SplitCols, SplitBatch>>, Sizes, Net::ops, Leaves>() == 3);
  CHECK(plan::ways_that_cut_samples<ModelParallel<SplitBatch>, Sizes, Net::ops, Leaves>() == 6);
  CHECK(plan::ways_that_cut_samples<ModelParallel<SplitColsRows>, Sizes, Net::ops, Leaves>() == 1);
}
TEST_CASE("does any layer ask to be cut, and along this letter?") {
  CHECK(plan::some_layer_says(layer::leaves<Net>{}));
  CHECK(plan::some_layer_says(layer::leaves<Net>{}, 'W'));
  CHECK(!plan::some_layer_says(layer::leaves<Net>{}, 'b'));
}
