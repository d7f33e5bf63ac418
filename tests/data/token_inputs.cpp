// data/token_inputs.cpp - which numbers of a sample are tokens follows from the model; each is checked by its vocabulary.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

#include <limits>

using namespace cleave;

namespace {

using In = Inputs<Vector<2>, Vector<3>, Sequence<2, 2>>;
struct Mixed
    : Sequential<In,
                 Branches<Concat, Path<In::at<0>, Embedding<10, 4, OfNumbers, PadToken<0>>, MeanOverValidPositions>,
                          Path<In::at<1>>, Path<In::at<2>, Embedding<7, 3, OfNumbers>, MeanOverPositions>>,
                 Linear<2>, CrossEntropy> {};
struct Words : Sequential<Vector<4>, Embedding<9, 3>, Linear<2>, CrossEntropy> {};
struct Numbers : Sequential<Vector<4>, Linear<2>, CrossEntropy> {};
template <class Net> struct Train : Plan<Net, Batch<4>> {};

}  // namespace

TEST_CASE("the tokens of a model are those that an Embedding reads") {
  constexpr session::TokenInputs mixed = session::token_inputs_of<Train<Mixed>>,
                                 words = session::token_inputs_of<Train<Words>>,
                                 numbers = session::token_inputs_of<Train<Numbers>>;
  static_assert(mixed.ranges == 2 && mixed.vocabulary(0) == 10 && mixed.vocabulary(1) == 10 &&
                mixed.vocabulary(2) == 0 && mixed.vocabulary(4) == 0 && mixed.vocabulary(5) == 7 &&
                mixed.vocabulary(8) == 7 && mixed.vocabulary(9) == 0);
  static_assert(words.ranges == 1 && words.vocabulary(0) == 9 && words.vocabulary(3) == 9);
  static_assert(!numbers.any() && numbers.vocabulary(0) == 0);
}
TEST_CASE("the first number that is no token, or not finite, is named") {
  constexpr session::TokenInputs of = session::token_inputs_of<Train<Mixed>>;
  float x[] = {9, 0, -0.5f, 100, 3.25f, 6, 0, 1, 2};
  CHECK(session::what_is_wrong(of, x, 9).empty());
  x[5] = 7;
  CHECK(session::what_is_wrong(of, x, 9) ==
        "number 5 is 7, which is no token of Embedding<7, ...>; tokens are whole, 0 to 6");
  x[1] = 0.5f;
  CHECK(session::what_is_wrong(of, x, 9) ==
        "number 1 is 0.5, which is no token of Embedding<10, ...>; tokens are whole, 0 to 9");
  x[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK(session::what_is_wrong(of, x, 1) ==
        "number 0 is nan, which is no token of Embedding<10, ...>; tokens are whole, 0 to 9");
  float const y[] = {1, 1, std::numeric_limits<float>::infinity()};
  CHECK(session::what_is_wrong(of, y, 3) == "number 2 is not finite; leave the sample out");
  CHECK(session::what_is_wrong(of, y, 3, false).empty());
}
