// backend/host/kernels/pack.cpp - a packed panel is (k, line), zeros behind the last line, on every instruction set and in every format.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/kernels/pack.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::backend::host;

namespace {

/// Lines [first, first + count) and steps [k, k + depth) of a matrix of 40 x 40, of which element (i, k) is 100 i + k.
template <class Operand, class E, int Width> void packs(int count, long depth) {
  using T = typename Operand::value;
  std::vector<T> matrix(40 * 40);
  for (long r = 0; r < 40; ++r) {
    for (long c = 0; c < 40; ++c) {
      long const line = Operand::along_k ? r : c, step = Operand::along_k ? c : r;
      matrix[static_cast<std::size_t>(r * 40 + c)] = static_cast<T>(static_cast<float>(line * 4 + step % 4));
    }
  }
  Operand const operand{matrix.data(), 40};
  test::on_every_isa([&] {
    std::vector<E> panel(static_cast<std::size_t>(Width * depth), E{-7});
    with_simd([&]<class S>(S) { operand.template pack<S, E, Width>(panel.data(), 3, count, 5, depth); });
    int wrong = 0;
    for (long k = 0; k < depth; ++k) {
      for (int i = 0; i < Width; ++i) {
        E const wanted =
            i < count ? static_cast<E>(static_cast<T>(static_cast<float>((3 + i) * 4 + (5 + k) % 4))) : E{0};
        wrong += panel[static_cast<std::size_t>(k * Width + i)] != wanted;
      }
    }
    CAPTURE(count);
    CAPTURE(depth);
    CHECK(wrong == 0);
  });
}

template <class T, class E> void both_ways() {
  for (int count : {1, 3, 4, 8, 15, 16}) {
    for (long depth : {1L, 2L, 8L, 19L}) {
      packs<Rows<T>, E, 16>(count, depth);
      packs<Columns<T>, E, 16>(count, depth);
    }
  }
}

}  // namespace

TEST_CASE("f32, and bf16 and f16 widened on the way") {
  both_ways<float, float>();
  both_ways<bf16, float>();
  both_ways<f16, float>();
}
TEST_CASE("every f16 is widened as by its conversion") {
  std::vector<f16> all(65536);
  for (std::size_t b = 0; b < all.size(); ++b) all[b].bits = static_cast<std::uint16_t>(b);
  std::vector<float> wide(all.size());
  with_simd([&]<class S>(S) { Columns<f16>{all.data(), 16}.pack<S, float, 16>(wide.data(), 0, 16, 0, 4096); });
  for (std::size_t b = 0; b < all.size(); ++b)
    REQUIRE(std::bit_cast<std::uint32_t>(wide[b]) == std::bit_cast<std::uint32_t>(static_cast<float>(all[b])));
}
TEST_CASE("f64") { both_ways<double, double>(); }

TEST_CASE("an element is where `at` says") {
  std::vector<float> m(12);
  CHECK(Rows<float>{m.data(), 4}.at(2, 1) == m.data() + 9);
  CHECK(Columns<float>{m.data(), 4}.at(2, 1) == m.data() + 6);
}

// Read in place only in the format of the sums; as B only where lines lie side by side.
static_assert(readable<float, Rows<float>>() && !readable<float, Rows<bf16>>() && !readable<float, int>());
static_assert(readable_across<float, Columns<float>>() && !readable_across<float, Rows<float>>());
