// tensor/elementary.cpp - elementary functions of float against those of double, over all of their range.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/tensor/elementary.hpp>
#include <initializer_list>
#include <limits>

using namespace cleave;

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity(),
                not_a_number = std::numeric_limits<float>::quiet_NaN();

/// The largest error in units of 2^-24 of the result, over numbers of all sizes with both signs.
template <class F, class G> double worst(F got, G wanted, double low, double high) {
  double most = 0;
  for (float x = 1e-30f; x < 1e3f; x *= 1.0003f) {
    for (float const at : {x, -x}) {
      if (at < low || at > high) continue;
      double const y = wanted(static_cast<double>(at));
      most = std::max(most, std::fabs(static_cast<double>(got(at)) - y) / std::max(std::fabs(y), 1e-37) * 0x1p24);
    }
  }
  return most;
}

}  // namespace

TEST_CASE("exp is within two units in the last place, 0 and infinity beyond") {
  CHECK(worst([](float x) { return tensor::exp(x); }, [](double x) { return std::exp(x); }, -87, 88.7) < 2 * 2);
  CHECK(tensor::exp(0.0f) == 1);
  for (float const x : {-105.0f, -1e30f, -infinite}) CHECK(tensor::exp(x) <= 1e-45f);
  for (float const x : {88.8f, 100.0f, 1e30f, infinite}) CHECK(tensor::exp(x) == infinite);
  CHECK(tensor::exp(-100.0f) == doctest::Approx(std::exp(-100.0)).epsilon(0.05));  // few bits are left
  CHECK(std::isnan(tensor::exp(not_a_number)));
}
TEST_CASE("tanh and erf are within a few units in the last place, and never beyond 1") {
  CHECK(worst([](float x) { return tensor::tanh(x); }, [](double x) { return std::tanh(x); }, -1e3, 1e3) < 8);
  CHECK(worst([](float x) { return tensor::erf(x); }, [](double x) { return std::erf(x); }, -1e3, 1e3) < 8);
  for (float x = 2; x < 20; x += 0.001f) {
    REQUIRE(tensor::tanh(x) <= 1);
    REQUIRE(tensor::erf(-x) >= -1);
  }
  for (float const x : {20.0f, infinite}) {
    CHECK(tensor::tanh(-x) == doctest::Approx(-1).epsilon(1e-7));
    CHECK(tensor::erf(x) == doctest::Approx(1).epsilon(1e-7));
  }
  CHECK(std::isnan(tensor::tanh(not_a_number)));
  CHECK(std::isnan(tensor::erf(not_a_number)));
}
TEST_CASE("the logistic function ends at 0 and 1") {
  CHECK(worst([](float x) { return tensor::logistic(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80) <
        8);
  CHECK(tensor::logistic(-infinite) == 0);
  CHECK(tensor::logistic(infinite) == 1);
  CHECK(std::isnan(tensor::logistic(not_a_number)));
}
TEST_CASE("of double they are those of the standard library") {
  CHECK(tensor::exp(1.0) == std::exp(1.0));
  CHECK(tensor::tanh(0.5) == std::tanh(0.5));
  CHECK(tensor::erf(0.5) == std::erf(0.5));
}
