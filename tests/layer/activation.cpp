// layer/activation.cpp - slopes, and a layer of the user in ten lines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave.hpp>

using namespace cleave;

namespace {

// A layer of one's own: a value and a slope.
struct Softplus {
  static constexpr auto name = "softplus";
  static constexpr bool from_output = false;
  template <class A> static A forward(A x) { return std::log1p(std::exp(x)); }
  template <class A> static A slope(A x) { return A{1} / (A{1} + std::exp(-x)); }
};

// The same with a mistake in it.
struct Wrong : Softplus {
  template <class A> static A slope(A x) { return A{0.9} / (A{1} + std::exp(-x)); }
};

}  // namespace

TEST_CASE("check_layer finds a wrong slope and says where") {
  auto const report = check_layer<Elementwise<Wrong>, Vector<8>>();
  CHECK(!report.ok);
  CHECK(report.text.find("gradient of the input at 0") != std::string::npos);
}
TEST_CASE("one's own layer") {
  {
    auto const report = check_layer<Elementwise<Softplus>, Vector<8>>();
    CHECK_MESSAGE(report.ok, report.text);
  }
}
TEST_CASE_TEMPLATE("slopes", Layer, Relu, Gelu, GeluTanh, Silu, Tanh, Sigmoid) {
  auto const report = check_layer<Layer, Vector<8>>();
  CHECK_MESSAGE(report.ok, report.text);
}
TEST_CASE("GeluTanh is within 5e-4 of Gelu, and is not Gelu") {
  double worst = 0;
  for (double x = -6; x < 6; x += 0.01)
    worst = std::max(worst, std::abs(layer::GeluTanhFunction::forward(x) - layer::GeluFunction::forward(x)));
  CHECK(worst < 5e-4);
  CHECK(worst > 4e-4);
}
