// backend/gpu/kernel.cpp - what has no kernel of its own runs by its definition, over all threads of a device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernel.hpp>
#include <cleave/layer/activation.hpp>
#include <cleave/op/dropout.hpp>
#include <cleave/op/join.hpp>
#include <cleave/op/loss.hpp>
#include <cleave/op/pool.hpp>
#include <cleave/op/response_norm.hpp>

#include "compare.hpp"

using namespace cleave;
using namespace cleave::testing;

struct Usual {
  static constexpr double k = 2, alpha = 1e-2, beta = 0.75;
};

TEST_CASE("maps, dropout, pools, response normalisation, joins, squared error") {
  compare_all<op::Map<layer::GeluFunction>, local<op::Map<layer::GeluFunction>>(5, Shape(77))>();
  compare_all<op::Map<layer::SigmoidFunction>, local<op::Map<layer::SigmoidFunction>>(5, Shape(3, 5, 7))>();
  compare_all<op::Drop<30>, local<op::Drop<30>>(5, Shape(77))>();
  compare_all<op::MaxWindow<3, 2, 1>, local<op::MaxWindow<3, 2, 1>>(2, Shape(3, 9, 7))>();
  compare_all<op::MeanWindow<2>, local<op::MeanWindow<2>>(2, Shape(3, 8, 6))>();
  compare_all<op::ResponseNorm<5, Usual>, local<op::ResponseNorm<5, Usual>>(2, Shape(7, 3, 3))>();
  compare_all<op::Add, local<op::Add>(3, Shape(17), Shape(17))>();
  compare_all<op::Concatenate, local<op::Concatenate>(3, Shape(2, 3, 3), Shape(4, 3, 3))>();
  compare_all<op::SquaredError, local<op::SquaredError>(9, Shape(13))>();
}
