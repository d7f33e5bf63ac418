// op/tail.cpp - operations behind each other at one element: each reads there what the one before has written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/layer/activation.hpp>
#include <cleave/op/dropout.hpp>
#include <cleave/op/join.hpp>
#include <cleave/op/tail.hpp>

#include <doctest/doctest.h>

using namespace cleave;

TEST_CASE("a tail at every element, in any order of these, is its operations one after the other") {
  constexpr op::Local L{2, 2, Shape(3), Shape(3), Shape(3), {}, {}};
  using Relu = op::Map<layer::ReluFunction>;
  float const x[] = {1, -2, 3, -4, 5, 6}, x2[] = {10, 20, 30, 40, 50, 60};
  float y[6];
  op::Operands<float> of[2];
  of[0].x = x, of[0].y = y;
  of[1].x = y, of[1].x2 = x2, of[1].y = y;
  for (long e : {3, 0, 5, 1, 4, 2}) op::Tail<false, op::Made<Relu, L>, op::Made<op::Add, L>>::at(e, of);
  float const wanted[] = {11, 20, 33, 40, 55, 66};
  for (int e = 0; e < 6; ++e) CHECK(y[e] == wanted[e]);

  float dx[6];
  float const relu_y[] = {1, 0, 3, 0, 5, 6};
  of[0].y = const_cast<float*>(relu_y), of[0].dy = x2, of[0].dx = dx;
  for (long e = 0; e < 6; ++e) op::Tail<true, op::Made<Relu, L>>::at(e, of);
  for (int e = 0; e < 6; ++e) CHECK(dx[e] == (x[e] > 0 ? x2[e] : 0));
}
