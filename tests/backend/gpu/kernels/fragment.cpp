// backend/gpu/kernels/fragment.cpp - a warp's tensor cores in software: the fragments of the PTX manual, one element at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/backend/emulate/block.hpp>

#include <cmath>
#include <vector>

using namespace cleave;
using namespace cleave::backend;

namespace {

/// d (16, 8) = a (16, k) b (k, 8) by one warp; a row-major, b column-major.
template <class Tile> struct Multiply {
  struct Args {
    typename Tile::element const *a, *b;
    float* d;
  };
  static constexpr int threads = 32, shared_bytes = 0;
  static constexpr bool alone = false;
  template <class Ctx> static void run(Ctx const& c, Args const& p) {
    int const g = c.thread() / 4, t = c.thread() % 4;
    std::uint32_t a[4], b[2];
    for (int r = 0; r < 4; ++r)
      a[r] = Tile::of(p.a + (g + 8 * (r % 2)) * Tile::k + Tile::per * t + Tile::k / 2 * (r / 2));
    for (int r = 0; r < 2; ++r) b[r] = Tile::of(p.b + g * Tile::k + Tile::per * t + Tile::k / 2 * r);
    float d[4]{};
    c.multiply(Tile{}, d, a, b);
    for (int i = 0; i < 4; ++i) p.d[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = d[i];
  }
};

template <class Tile> void whole() {
  std::vector<typename Tile::element> a(16 * Tile::k), b(8 * Tile::k);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = Tile::stored(static_cast<float>(static_cast<int>(i * 37 % 61) - 30));
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = Tile::stored(static_cast<float>(static_cast<int>(i * 23 % 47) - 20));
  std::vector<float> d(16 * 8, NAN);
  emulate::launch<Multiply<Tile>>(1, {a.data(), b.data(), d.data()});
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      float sum = 0;
      for (int k = 0; k < Tile::k; ++k) {
        sum += static_cast<float>(a[static_cast<std::size_t>(i * Tile::k + k)]) *
               static_cast<float>(b[static_cast<std::size_t>(j * Tile::k + k)]);
      }
      CHECK(d[static_cast<std::size_t>(i * 8 + j)] == sum);  // small integers: exact
    }
  }
}

}  // namespace

TEST_CASE("bf16 fragments") { whole<gpu::Bf16Tile>(); }
TEST_CASE("f16 fragments") { whole<gpu::F16Tile>(); }
TEST_CASE("tf32 fragments") { whole<gpu::Tf32Tile>(); }
TEST_CASE("tf32 rounds to nearest, ties away, and keeps what is not finite") {
  auto const of = [](std::uint32_t u) {
    return __builtin_bit_cast(std::uint32_t, gpu::Tf32Tile::stored(__builtin_bit_cast(float, u)));
  };
  CHECK(of(0x3f800fff) == 0x3f800000);
  CHECK(of(0x3f801000) == 0x3f802000);
  CHECK(of(0xbf801000) == 0xbf802000);
  CHECK(of(0x7f800000) == 0x7f800000);
  CHECK(of(0x7fc00001) == 0x7fc00001);
}
