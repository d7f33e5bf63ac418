// layer/per_position.cpp - layers on each position: gradients, every cut of their input and of themselves, any replicas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

TEST_CASE("what treats all elements alike stays as it is, the rest is of each position") {
  static_assert(
      std::is_same_v<PerPosition<Linear<3, NoBias>, Relu, Dropout<10>>::ops,
                     meta::concat<meta::list<op::OnEachPosition<op::Product<3>>>, Relu::ops, Dropout<10>::ops>>);
  struct Net : Sequential<Sequence<5, 4>, PerPosition<Linear<3>, CrossEntropy>> {};
  static_assert(session::Probe<Net>::schedule.labels == 5 && session::Probe<Net>::schedule.weight_elements == 15);
}
TEST_CASE("linear layers and norms") {
  for (auto const& report :
       {check_layer<PerPosition<Linear<6>>, Sequence<3, 4>>(), check_layer<PerPosition<LayerNorm>, Sequence<3, 4>>(),
        check_layer<PerPosition<Linear<4>>, Sequence<1, 2>>()}) {
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("residual paths, and images as positions") {
  using Pictures = Path<PerPosition<Linear<4>>, PerPosition<Residual<LayerNorm, Linear<4>>>>;
  for (auto const& report : {check_layer<Pictures, Sequence<2, 4>>(),
                             check_layer<PerPosition<Linear<6>, Tanh, LayerNorm, Linear<4>>, Sequence<3, 4>>()}) {
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE("a layer of all positions behind a cut of their features") {
  auto const report = check_layer<Path<PerPosition<Linear<4>>, Linear<6>>, Sequence<4, 4>>();
  CHECK_MESSAGE(report.ok, report.text);
}
TEST_CASE("dropout draws the same numbers however features are cut") {
  auto const report = check_layer<PerPosition<Dropout<50>>, Sequence<3, 4>>();
  CHECK_MESSAGE(report.ok, report.text);
}
