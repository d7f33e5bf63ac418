// layer/experts.cpp - a mixture of experts: gradients, any replicas, experts on two ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

template <class... Words> using Small = Experts<4, LoadBalance<0>, Words..., Linear<6>, Gelu, Linear<8>>;

}  // namespace

TEST_CASE("gradients, any replicas, and experts on two ranks") {
  CHECK(check_layer<Small<>, Sequence<6, 8>>().text == "right");
  CHECK(check_layer<Small<TopExperts<1>>, Sequence<6, 8>>().text == "right");
  CHECK(check_layer<Small<TopExperts<3>, CapacityPercent<60>>, Sequence<6, 8>>().text == "right");
}
