// backend/host/gradients/exact_squares.hpp - a sum of squares without rounding: no order of additions changes it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "../../../tensor/square_digits.hpp"

namespace cleave::backend::host {

/// A is the format of sums. Ranks may have any parts of the squares: their digits add up to those of the whole.
template <class A> class ExactSquares {
 public:
  using Digits = tensor::SquareDigits<A>;
  static constexpr int words = Digits::words;  // of what write() writes

  template <class G> void add(G const* g, long n) {
    while (f32 && n >= lanes) {
      long const now = std::min(n / lanes * lanes, most_in_run);
      if (!add_run(g, now)) add_each(g, now);
      g += now;
      n -= now;
    }
    add_each(g, n);
  }
  void write(double* to) {
    fold();
    Digits::carry(digit_, to);
    to[Digits::digits] = special_;
  }
  double value() {
    double of[words];
    write(of);
    return Digits::value(of);
  }

 private:
  static constexpr bool f32 = Digits::f32;
  static constexpr int mantissa = Digits::mantissa, unused = Digits::unused, first = Digits::first;
  static constexpr int exponents = f32 ? 555 : 2046;
  static constexpr std::int64_t hidden = std::int64_t{1} << mantissa;
  static constexpr long most = 1L << (62 - (mantissa + 1 - unused));  // numbers of one exponent before they overflow
  static constexpr long lanes = 16, most_in_run = 1024;

  /// Squares below 2^E are cut into a multiple of 2^(E - 42) and one of 2^(E - 85): 1024 of either add up in f64
  /// without rounding. Returns false, and adds nothing, if a square has lower bits, or is infinite or NaN.
  template <class G> bool add_run(G const* g, long n) {
    std::uint32_t largest[lanes] = {};
    for (long i = 0; i < n; i += lanes) {
      for (long k = 0; k < lanes; ++k)
        largest[k] = std::max(largest[k], std::bit_cast<std::uint32_t>(static_cast<float>(g[i + k])) & 0x7fffffff);
    }
    std::uint32_t const most_of_all = *std::max_element(largest, largest + lanes);
    if (most_of_all == 0) return true;
    if (most_of_all >= 0x7f800000) return false;
    double const v = std::bit_cast<float>(most_of_all);
    int const above = std::ilogb(v * v) + 1;
    double const upper = std::ldexp(1.5, above - 42 + mantissa), lower = std::ldexp(1.5, above - 85 + mantissa);
    double high[lanes] = {}, rest[lanes] = {}, left[lanes] = {};
    for (long i = 0; i < n; i += lanes) {
      for (long k = 0; k < lanes; ++k) {
        double const x = static_cast<double>(static_cast<float>(g[i + k])), square = x * x;
        double const a = (square + upper) - upper, b = square - a, c = (b + lower) - lower;
        high[k] += a;
        rest[k] += c;
        left[k] = std::max(left[k], std::abs(b - c));
      }
    }
    if (*std::max_element(left, left + lanes) > 0) return false;
    double sum_of_high = 0, sum_of_rest = 0;
    for (long k = 0; k < lanes; ++k) {
      sum_of_high += high[k];
      sum_of_rest += rest[k];
    }
    add_number(sum_of_high);
    add_number(sum_of_rest);
    return true;
  }
  /// Of the runs: either sign.
  void add_number(double v) {
    if (v == 0) return;
    auto const of = std::bit_cast<std::int64_t>(v);
    std::int64_t const number = (of & (hidden - 1)) | hidden;
    int const shift = static_cast<int>((of >> mantissa) & 0x7ff) - first - unused;
    // The lowest bit is no lower than that of a square.
    if (shift < 0) return Digits::add(digit_, number >> -shift, 0, v < 0 ? -1 : 1);
    Digits::add(digit_, number, shift, v < 0 ? -1 : 1);
  }
  template <class G> void add_each(G const* g, long n) {
    for (long i = 0; i < n; ++i) {
      double const v = static_cast<double>(g[i]), square = v * v;
      auto const of = std::bit_cast<std::int64_t>(square);
      int const exponent = static_cast<int>(of >> mantissa) & 0x7ff;
      if (exponent == 2047) [[unlikely]] {
        special_ += square;
      } else if (exponent >= first) {
        sum_[exponent - first] += ((of & (hidden - 1)) | hidden) >> unused;
      } else {  // of f64 below its normal numbers; of f32 zero
        sum_[0] += of >> unused;
      }
      if (--free_ == 0) fold();
    }
  }
  void fold() {
    if (free_ == most) return;
    for (int e = 0; e < exponents; ++e) {
      if (sum_[e] != 0) Digits::add(digit_, std::exchange(sum_[e], 0), e, 1);
    }
    free_ = most;
  }

  std::int64_t sum_[exponents] = {};  // of each exponent
  std::int64_t digit_[Digits::digits] = {};
  double special_ = 0;
  long free_ = most;
};

}  // namespace cleave::backend::host
