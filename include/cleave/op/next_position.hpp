// op/next_position.hpp - what operations on all positions of a sequence compute of one more position, with what they keep.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "attention.hpp"

namespace cleave::op {

/// Base of the operations below. Its state begins with the number of positions that it has seen; 0 is a new sequence.
/// Host only: one thread computes a position.
struct NextPosition : Base {
  static constexpr int states = 1;
  static constexpr std::string_view state_names[] = {"cache"};

  /// The number of this position, from 0; the next call has the one after it.
  template <class A> static long advance(A* state) {
    auto const p = static_cast<long>(state[0]);
    state[0] += A{1};
    return p;
  }
};

/// AddPositions of `Positions` positions, on the next one: x (b, 1, F), W (Positions, F).
template <int Positions> struct AddNextPosition : NextPosition {
  static constexpr auto name = AddPositions::name;
  static constexpr auto equation = "bTF,PF->bTF";
  static constexpr int weights = 1;
  static constexpr std::string_view weight_names[] = {"bias"};
  static constexpr Shape output(Shape x) { return x; }
  static constexpr Shape state(Shape) { return Shape(1); }
  static constexpr Weight weight(int, Shape x) { return AddPositions::weight(0, Shape(Positions, x[1])); }

  template <Local L, class Ctx, class T> static void forward(Ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    T const* const w = t.w0 + NextPosition::advance(t.state0) * L.x.size();
    for (long i = 0; i < L.x.size(); ++i) t.y[i] = static_cast<T>(static_cast<A>(t.x[i]) + static_cast<A>(w[i]));
  }
};

/// RotatePositions, of the next one.
struct RotateNextPosition : NextPosition {
  static constexpr auto name = RotatePositions::name;
  static constexpr auto equation = RotatePositions::equation;
  static constexpr Shape output(Shape x) { return x; }
  static constexpr Shape state(Shape) { return Shape(1); }

  template <Local L, class Ctx, class T> static void forward(Ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long heads = L.x[2], width = L.x[3], half = width / 2;
    long const p = NextPosition::advance(t.state0);
    for (long d = 0; d < half; ++d) {
      double const angle = static_cast<double>(p) / std::pow(10000.0, 2.0 * static_cast<double>(d) / width);
      A const c = static_cast<A>(std::cos(angle)), s = static_cast<A>(std::sin(angle));
      for (long h = 0; h < 3 * heads; ++h) {
        long const i = h * width + d;
        A const x = static_cast<A>(t.x[i]), y = static_cast<A>(t.x[i + half]);
        bool const turns = h < 2 * heads;
        t.y[i] = turns ? static_cast<T>(x * c - y * s) : t.x[i];
        t.y[i + half] = turns ? static_cast<T>(y * c + x * s) : t.x[i + half];
      }
    }
  }
};

/// Attend<true> over `Positions` positions, of the next one, whose key and value it keeps beside those before it.
template <int Positions> struct AttendNextPosition : NextPosition {
  static constexpr auto name = Attend<true>::name;
  static constexpr auto equation = Attend<true>::equation;
  static constexpr Shape output(Shape x) { return Attend<true>::output(x); }
  static constexpr Shape state(Shape x) { return Shape(1 + 2 * Positions * x[2] * x[3]); }
  static constexpr long work(Shape x) { return Positions * x.size() / 3; }

  template <Local L, class Ctx, class T> static void forward(Ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long heads = L.x[2], width = L.x[3], all = heads * width;
    long const p = NextPosition::advance(t.state0);
    A *const keys = t.state0 + 1, *const values = keys + Positions * all;
    for (long i = 0; i < all; ++i) {
      keys[p * all + i] = static_cast<A>(t.x[all + i]);
      values[p * all + i] = static_cast<A>(t.x[2 * all + i]);
    }
    A const scale = Attend<true>::template scale<L, A>();
    for (long h = 0; h < heads; ++h) {
      auto const score = [&](long k) {
        A sum = 0;
        for (long d = 0; d < width; ++d) sum += static_cast<A>(t.x[h * width + d]) * keys[k * all + h * width + d];
        return sum;
      };
      A top = score(0), sum = 0;
      for (long k = 1; k <= p; ++k) {
        A const s = score(k);
        top = s > top ? s : top;
      }
      A y[width] = {};
      for (long k = 0; k <= p; ++k) {
        A const w = tensor::exp((score(k) - top) * scale);
        sum += w;
        for (long d = 0; d < width; ++d) y[d] += w * values[k * all + h * width + d];
      }
      for (long d = 0; d < width; ++d) t.y[h * width + d] = static_cast<T>(y[d] / sum);
    }
  }
};

}  // namespace cleave::op
