// tensor/factor.cpp - what products multiply: tf32 rounded, fp8 in 8 bits at a power of two that fits its tensor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <bit>
#include <cleave/tensor/factor.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace cleave;
using tensor::Factor, tensor::Role;

namespace {

std::vector<fp8> numbers(std::vector<float> const& v) {
  std::vector<fp8> all;
  for (float x : v) all.emplace_back(x);
  return all;
}
template <Role R> Factor<fp8, R> of(std::vector<fp8> const& v) {
  return Factor<fp8, R>::of(v.data(), static_cast<long>(v.size()));
}

/// Every magnitude that bf16 has, as the largest of a tensor.
template <Role R> void every_peak() {
  using Format = typename Factor<fp8, R>::format;
  for (std::uint32_t m = 1; m < 0x7f80; ++m) {
    Factor<fp8, R> const f(m);
    fp8 largest;
    largest.value.bits = static_cast<std::uint16_t>(m);
    float const v = static_cast<float>(largest), up = v * f.scale;
    CAPTURE(v);
    REQUIRE((std::bit_cast<std::uint32_t>(f.scale) & 0x7fffffu) == 0);
    REQUIRE(f.scale * f.inverse() == 1);
    REQUIRE(up <= Format::largest);
    if (f.scale < 0x1p96f) REQUIRE(2 * up > Format::largest);
    if (v < 0x1p127f) REQUIRE(std::fabs(f(largest) - v) <= v * (R == Role::Value ? 0x1p-4f : 0x1p-3f) + 0x1p-105f);
  }
}

}  // namespace

TEST_CASE("f32, f64 and bf16 are multiplied as they are, tf32 to nearest, ties away from zero") {
  auto const factor = [](unsigned u) { return std::bit_cast<unsigned>(Factor<tf32>{}(tf32(std::bit_cast<float>(u)))); };
  CHECK(factor(0x3f800fff) == 0x3f800000);
  CHECK(factor(0x3f801000) == 0x3f802000);
  CHECK(factor(0xbf801000) == 0xbf802000);
  CHECK(factor(0x7f800000) == 0x7f800000);
  CHECK(factor(0x7f800001) == 0x7f800001);
  CHECK(Factor<float>{}(1 + 0x1p-20f) == 1 + 0x1p-20f);
  CHECK(Factor<double>::of(nullptr, 7)(1 + 0x1p-40) == 1 + 0x1p-40);
  CHECK(Factor<bf16, Role::Gradient>{}(bf16(1 + 0x1p-7f)) == 1 + 0x1p-7f);
  static_assert(sizeof(Factor<float>) == 1 && !tensor::scaled<bf16> && tensor::scaled<fp8>);
}
TEST_CASE("the scale is the power of two that takes the largest as far up as the format goes") {
  CHECK(of<Role::Value>(numbers({0.5f, -1.75f, 1})).scale == 256);
  CHECK(of<Role::Value>(numbers({0.5f, -1.8f, 1})).scale == 128);
  CHECK(of<Role::Gradient>(numbers({1e-4f, 1})).scale == 32768);
  CHECK(of<Role::Value>(numbers({0, 0})).scale == 1);
  CHECK(of<Role::Value>({}).scale == 1);
  every_peak<Role::Value>();
  every_peak<Role::Gradient>();
}
TEST_CASE("values have three bits of fraction, gradients two and more range") {
  auto const x = numbers({448, 1 + 1 / 16.f, 1 + 3 / 16.f, 0x1p-9f, 0x1p-11f});
  auto const fx = of<Role::Value>(x);
  CHECK(fx(x[0]) == 448);
  CHECK(fx(x[1]) == 1);
  CHECK(fx(x[2]) == 1.25f);
  CHECK(fx(x[3]) == 0x1p-9f);
  CHECK(fx(x[4]) == 0);
  auto const dy = numbers({0x1.cp15f, 1.125f, 1.375f, 0x1p-16f, 0x1p-18f});
  auto const fdy = of<Role::Gradient>(dy);
  CHECK(fdy(dy[0]) == 0x1.cp15f);
  CHECK(fdy(dy[1]) == 1);
  CHECK(fdy(dy[2]) == 1.5f);
  CHECK(fdy(dy[3]) == 0x1p-16f);
  CHECK(fdy(dy[4]) == 0);
}
TEST_CASE("what is not finite stays so, and leaves the scale to the others") {
  float const infinite = std::numeric_limits<float>::infinity();
  auto const x = numbers({infinite, -3, std::nanf("")});
  CHECK(of<Role::Value>(x).scale == 128);
  for (fp8 v : {x[0], x[2]}) {
    CHECK(!std::isfinite(of<Role::Value>(x)(v)));
    CHECK(!std::isfinite(of<Role::Gradient>(x)(v)));
  }
  CHECK(of<Role::Value>(x)(x[1]) == -3);
}
