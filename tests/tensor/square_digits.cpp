// tensor/square_digits.cpp - digits hold a sum without rounding; carried or not, they have one value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/tensor/square_digits.hpp>
#include <limits>
#include <vector>

using cleave::tensor::SquareDigits;

namespace {
/// The words of numbers times 2^-345, or 2^-1074.
template <class A> std::vector<double> words(std::vector<std::int64_t> const& numbers, int shift) {
  using Digits = SquareDigits<A>;
  std::vector<std::int64_t> digit(Digits::digits);
  for (std::int64_t n : numbers) Digits::add(digit.data(), n < 0 ? -n : n, shift, n < 0 ? -1 : 1);
  std::vector<double> all(digit.begin(), digit.end());
  all.push_back(0);
  return all;
}
template <class A> void sums() {
  using Digits = SquareDigits<A>;
  std::int64_t const large = (std::int64_t{1} << 53) - 1;
  for (int shift : {0, 1, 31, 32, 63, 200}) {
    CAPTURE(shift);
    std::vector<double> all = words<A>({large, large, -large, 5, -2}, shift);
    double const wanted = std::ldexp(static_cast<double>(large + 3), Digits::lowest + shift);
    CHECK(Digits::value(all.data()) == wanted);
    Digits::carry(all.data(), all.data());
    for (int d = 0; d < Digits::digits; ++d) {
      CHECK(all[static_cast<std::size_t>(d)] >= 0);
      CHECK(all[static_cast<std::size_t>(d)] <= 0xffffffff);
    }
    CHECK(Digits::value(all.data()) == wanted);
  }
}
}  // namespace

TEST_CASE("a sum whose parts cancel") {
  sums<float>();
  sums<double>();
}
TEST_CASE("words of several sums are added") {
  auto const a = words<float>({7, (1L << 40) + 1}, 90), b = words<float>({(1L << 52) - 9}, 90);
  std::vector<double> both(a);
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += b[i];
  CHECK(SquareDigits<float>::value(both.data()) ==
        std::ldexp(static_cast<double>((1L << 40) + (1L << 52) - 1), SquareDigits<float>::lowest + 90));
}
TEST_CASE("what is infinite or NaN is the value") {
  auto all = words<float>({1}, 0);
  all.back() = std::numeric_limits<double>::infinity();
  CHECK(SquareDigits<float>::value(all.data()) == all.back());
  all.back() = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(SquareDigits<float>::value(all.data())));
}
