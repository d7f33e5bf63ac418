// backend/host/gradients/exact_squares.cpp - sums of squares without rounding: any order, any parts, every number.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/backend/host/gradients/exact_squares.hpp>

#include "../compare.hpp"

using namespace cleave;

namespace {
template <class A, class G> double squares(std::vector<G> const& g) {
  backend::host::ExactSquares<A> sum;
  sum.add(g.data(), static_cast<long>(g.size()));
  return sum.value();
}
/// Numbers of very different sizes.
template <class G> std::vector<G> wide(long n, int smallest, int largest) {
  std::vector<G> out;
  std::uint64_t state = 88172645463325252;
  for (long i = 0; i < n; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    double const v = 1 + static_cast<double>(state >> 12) * 0x1p-52;
    int const exponent = smallest + static_cast<int>(state % static_cast<std::uint64_t>(largest - smallest + 1));
    out.push_back(static_cast<G>(std::ldexp(state % 2 == 0 ? v : -v, exponent)));
  }
  return out;
}
template <class A, class G> void any_order(std::vector<G> g) {
  double const wanted = squares<A>(g);
  std::reverse(g.begin(), g.end());
  CHECK(squares<A>(g) == wanted);
  std::rotate(g.begin(), g.begin() + static_cast<long>(g.size()) / 3, g.end());
  CHECK(squares<A>(g) == wanted);
  for (int parts : {2, 3, 7}) {  // the words of ranks that have a part each
    constexpr int words = backend::host::ExactSquares<A>::words;
    double all[words]{}, own[words];
    for (int p = 0; p < parts; ++p) {
      backend::host::ExactSquares<A> sum;
      long const begin = static_cast<long>(g.size()) * p / parts, end = static_cast<long>(g.size()) * (p + 1) / parts;
      sum.add(g.data() + begin, end - begin);
      sum.write(own);
      for (int d = 0; d < words; ++d) all[d] += own[d];
    }
    CHECK(backend::host::ExactSquares<A>::Digits::value(all) == wanted);
  }
}
}  // namespace

TEST_CASE("of every length") {
  for (long n : {0L, 1L, 15L, 16L, 17L, 1024L, 1040L, 5000L}) {
    auto const g = test::numbers<float>(n, 1);
    long double sum = 0;
    for (float v : g) sum += static_cast<long double>(v) * static_cast<long double>(v);
    CHECK(squares<float>(g) == doctest::Approx(static_cast<double>(sum)).epsilon(1e-15));
  }
}
TEST_CASE("no order and no parts change it") {
  any_order<float>(test::numbers<float>(10007, 1));
  any_order<float>(wide<float>(5003, -6, 5));
  any_order<float>(wide<float>(5003, -149, 127));
  any_order<double>(wide<double>(5003, -20, 20));
  any_order<double>(wide<double>(5003, -538, 480));
  any_order<float>(wide<float>(70000, -1, 1));
  any_order<double>(wide<double>(9000, 0, 0));
}
TEST_CASE("exact: what is small among what is large counts, and nothing overflows") {
  std::vector<float> g(1 << 20, 1e-3f);
  double const small = static_cast<double>(1e-3f) * static_cast<double>(1e-3f) * (1 << 20);
  CHECK(squares<float>(g) == doctest::Approx(small).epsilon(1e-15));
  g[5] = 1;
  CHECK(squares<float>(g) == doctest::Approx(1 + small - small / (1 << 20)).epsilon(1e-15));
  std::vector<float> const ones(3000, 1.0f), largest(3000, 0x1.fffffep127f), least(3000, 0x1p-149f);
  CHECK(squares<float>(ones) == 3000);
  CHECK(squares<float>(largest) == 3000 * (static_cast<double>(largest[0]) * static_cast<double>(largest[0])));
  CHECK(squares<float>(least) == 3000 * 0x1p-298);
  CHECK(squares<float>(std::vector<float>(40, 0.0f)) == 0);
  std::vector<double> const halves(3000, 0.5), below(3000, 0x1p-537);
  CHECK(squares<double>(halves) == 750);
  CHECK(squares<double>(below) == 3000 * 0x1p-1074);
}
TEST_CASE("infinite squares and NaN") {
  for (long n : {3L, 2000L}) {
    std::vector<float> g(static_cast<std::size_t>(n), 1.0f);
    g[1] = std::numeric_limits<float>::infinity();
    CHECK(squares<float>(g) == std::numeric_limits<double>::infinity());
    g[2] = -std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(squares<float>(g)));
  }
  CHECK(squares<double>(std::vector<double>(20, 1e200)) == std::numeric_limits<double>::infinity());
}
TEST_CASE("a narrow copy has the sum of what it holds") {
  std::vector<bf16> narrow;
  std::vector<float> same;
  for (int i = 0; i < 77; ++i) {
    narrow.push_back(static_cast<bf16>(0.01f * static_cast<float>(i * i)));
    same.push_back(static_cast<float>(narrow.back()));
  }
  CHECK(squares<float>(narrow) == squares<float>(same));
}
