// backend/gpu/kernels/clip.hpp - kernels for the factor of gradients: sums of squares without rounding, and the factor from them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/norm.hpp"
#include "../../../tensor/square_digits.hpp"
#include "update.hpp"

namespace cleave::backend::gpu {

/// One block for each piece of elements [first, first + n) of a bucket of `of`: the sum of their squares, without
/// rounding. A warp takes 512 at a time, rounded to multiples of 2^p, which add up in f64 without rounding; then what
/// is left of them, with a smaller p, until nothing is left.
template <class G> struct Squares {
  using A = tensor::accumulate_t<G>;
  using Digits = tensor::SquareDigits<A>;
  struct Args {
    double* to;  // Digits::words for each piece
    long first, n, of;
    Sources<G> gradient;
  };
  static constexpr int threads = 256, warps = threads / lanes, width = 4, each = 16;
  static constexpr int shared_bytes = warps * Digits::words * static_cast<int>(sizeof(double));
  static constexpr bool alone = false;

  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    int const warp = c.thread() / lanes, lane = c.thread() % lanes;
    auto* const digits = reinterpret_cast<std::int64_t*>(c.shared());
    auto* const special = reinterpret_cast<double*>(digits + warps * Digits::digits);
    Warp of{digits + warp * Digits::digits, 0};
    for (int d = 0; lane == 0 && d < Digits::digits; ++d) of.digit[d] = 0;
    long const begin = c.block() * schedule::norm_piece,
               end = begin + schedule::norm_piece < a.n ? begin + schedule::norm_piece : a.n;
    for (long at = begin + warp * lanes * each; at < end; at += threads * each) {
      double square[each];
      CLEAVE_UNROLL
      for (int k = 0; k < each; k += width) {
        long const i = at + k * lanes + lane * width;
        if (i + width <= end) {
          auto const g = a.gradient.template at<A, width>(a.first + i, a.of);
          CLEAVE_UNROLL
          for (int e = 0; e < width; ++e) square[k + e] = static_cast<double>(g.v[e]) * static_cast<double>(g.v[e]);
        } else {
          CLEAVE_UNROLL
          for (int e = 0; e < width; ++e) {
            double const v =
                i + e < end ? static_cast<double>(a.gradient.template at<A, 1>(a.first + i + e, a.of).v[0]) : 0;
            square[k + e] = v * v;
          }
        }
      }
      of.add(c, square, lane);
    }
    if (lane == 0) special[warp] = of.special;
    c.barrier();
    for (int d = c.thread(); d < Digits::digits; d += threads) {
      for (int w = 1; w < warps; ++w) digits[d] += digits[w * Digits::digits + d];
    }
    c.barrier();
    if (c.thread() != 0) return;
    double* const to = a.to + c.block() * Digits::words;
    Digits::carry(digits, to);
    to[Digits::digits] = 0;
    for (int w = 0; w < warps; ++w) to[Digits::digits] += special[w];
  }

 private:
  /// Of a warp; only its first lane adds to the digits. Each lane has `each` squares.
  struct Warp {
    std::int64_t* digit;
    double special;

    static constexpr int bits = 42;                    // 512 numbers below 2^42 add up below 2^52
    static constexpr double whole = 6755399441055744;  // 1.5 * 2^52: numbers added to it are rounded
    static constexpr double largest = 1.7976931348623157e308;
    template <class Ctx> CLEAVE_HD void add(Ctx const& c, double* square, int lane) {
      double top = top_of(c, square);
      if (!(top <= largest)) {
        double sum = 0;
        CLEAVE_UNROLL
        for (int e = 0; e < each; ++e) {
          sum += square[e] <= largest ? 0 : square[e];
          square[e] = square[e] <= largest ? square[e] : 0;
        }
        sum = over_warp<Sum>(c, sum);
        if (lane == 0) special += sum;
        top = top_of(c, square);
      }
      while (top > 0) {
        int const lowest = std::ilogb(top) + 1 - bits, p = lowest > Digits::lowest ? lowest : Digits::lowest;
        // 1 / 2^p as two factors, since of f64 it may be larger than any f64.
        double const unit = std::ldexp(1.0, p), up = std::ldexp(1.0, -p / 2), rest = std::ldexp(1.0, -p - -p / 2);
        double sum = 0;
        CLEAVE_UNROLL
        for (int e = 0; e < each; ++e) {
          double const multiple = (square[e] * up * rest + whole) - whole;
          sum += multiple;
          square[e] = std::fma(-multiple, unit, square[e]);  // in one, since their product may be 2^1024
        }
        sum = over_warp<Sum>(c, sum);
        if (lane == 0 && sum != 0)
          Digits::add(digit, static_cast<std::int64_t>(std::abs(sum)), p - Digits::lowest, sum < 0 ? -1 : 1);
        top = top_of(c, square);
      }
    }
    template <class Ctx> CLEAVE_HD static double top_of(Ctx const& c, double const* square) {
      double top = 0;
      CLEAVE_UNROLL
      for (int e = 0; e < each; ++e) top = Max::join(top, std::abs(square[e]));
      return over_warp<Max>(c, top);
    }
  };
};

/// Adds sums of squares, each of them words one after the other: block b adds every blocks-th from b on into that of b.
/// If there is one block, its sum goes to `to`: as words, or `rounded` to one number.
template <class A> struct AddDigits {
  using Digits = tensor::SquareDigits<A>;
  struct Args {
    double* of;
    long n;
    double* to;
    bool rounded;
  };
  static constexpr int width = Digits::words <= lanes ? lanes : 4 * lanes, groups = 256 / width;
  static constexpr int threads = 256, shared_bytes = threads * static_cast<int>(sizeof(double));
  static constexpr bool alone = false;
  static constexpr int most_blocks = 64;
  static int blocks(long n) { return n > 8 * most_blocks ? most_blocks : 1; }

  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    auto* const line = reinterpret_cast<double*>(c.shared());
    int const word = c.thread() % width, group = c.thread() / width;
    double sum = 0;
    if (word < Digits::words) {
      for (long i = c.block() + long{group} * c.blocks(); i < a.n; i += long{groups} * c.blocks())
        sum += a.of[i * Digits::words + word];
    }
    line[c.thread()] = sum;
    c.barrier();
    if (group == 0 && word < Digits::words) {
      for (int g = 1; g < groups; ++g) line[word] += line[g * width + word];
      if (c.blocks() > 1) a.of[c.block() * Digits::words + word] = line[word];
    }
    c.barrier();
    if (c.blocks() > 1 || c.thread() != 0) return;
    if (a.rounded) {
      *a.to = Digits::value(line);
    } else {
      Digits::carry(line, a.to);
      a.to[Digits::digits] = line[Digits::digits];
    }
  }
};

/// The words of several ranks, added.
struct SquaresOfRanks {
  double* to;
  int words, ranks;
  double const* from[most_sources];
};
struct AddSquares : Each {
  using Args = SquaresOfRanks;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(a.words, [&](long w) {
      double sum = 0;
      for (int r = 0; r < a.ranks; ++r) sum += a.from[r][w];
      a.to[w] = sum;
    });
  }
};

/// Where the sums of squares of all ways are, where the scale goes, and the state of the plan's LossScale.
template <class A> struct WaySquares {
  A *scale, *state;
  int ways;
  bool digits;  // each is the words of a sum, else one number
  double const* squares[most_sources];
};
/// Computes the scale of the gradients from the sums of all ways, added in their order.
template <class Optimizer, class A> struct GradientScale : Each {
  using Args = WaySquares<A>;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(1, [&](long) {
      double sum = 0;
      for (int w = 0; w < a.ways; ++w) sum += a.digits ? tensor::SquareDigits<A>::value(a.squares[w]) : *a.squares[w];
      *a.scale = optim::gradient_scale<Optimizer, A>(sum, a.state);
    });
  }
};

/// A gradient multiplied by the scale.
template <class G, class A> struct Scaled : Sources<G> {
  A const* scale;
  template <class To, int W> CLEAVE_HD Pack<To, W> at(long i, long n) const {
    auto g = Sources<G>::template at<To, W>(i, n);
    CLEAVE_UNROLL
    for (int k = 0; k < W; ++k) g.v[k] *= *scale;
    return g;
  }
};

}  // namespace cleave::backend::gpu
