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
template <class Policy> std::string letters() {
  auto const of = plan::letters<Net, Policy>(Net::ops{}, layer::leaves<Net>{});
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
TEST_CASE("does any layer ask to be cut, and along this letter?") {
  CHECK(plan::some_layer_says(layer::leaves<Net>{}));
  CHECK(plan::some_layer_says(layer::leaves<Net>{}, 'W'));
  CHECK(!plan::some_layer_says(layer::leaves<Net>{}, 'b'));
}
