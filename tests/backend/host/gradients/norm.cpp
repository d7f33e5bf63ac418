// backend/host/gradients/norm.cpp - squares are added up in f64: no summand is lost, whatever the length.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/gradients/norm.hpp>

#include "../compare.hpp"

using namespace cleave;
using backend::host::squares;

TEST_CASE("of every length") {
  for (long n : {0L, 1L, 7L, 8L, 9L, 1000L}) {
    auto const g = test::numbers<float>(n, 1);
    long double sum = 0;
    for (float v : g) sum += static_cast<long double>(v) * static_cast<long double>(v);
    CHECK(squares(g.data(), n) == doctest::Approx(static_cast<double>(sum)).epsilon(1e-14));
  }
}
TEST_CASE("small gradients among many are counted, and large ones do not overflow") {
  std::vector<float> g(1 << 20, 1e-3f);
  g[5] = 1e30f;
  CHECK(squares(g.data(), 1 << 20) == doctest::Approx(1e60));
  g[5] = 1;
  CHECK(squares(g.data(), 1 << 20) == doctest::Approx(1 + ((1 << 20) - 1) * 1e-6).epsilon(1e-6));
}
TEST_CASE("a narrow copy has the sum of what it holds") {
  std::vector<bf16> narrow;
  std::vector<float> wide;
  for (int i = 0; i < 77; ++i) {
    narrow.push_back(static_cast<bf16>(0.01f * static_cast<float>(i * i)));
    wide.push_back(static_cast<float>(narrow.back()));
  }
  CHECK(squares(narrow.data(), 77) == squares(wide.data(), 77));
}
