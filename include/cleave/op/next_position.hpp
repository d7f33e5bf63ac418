// op/next_position.hpp - what operations on all positions of a sequence compute of one more position, with what they keep.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "attention.hpp"
#include "experts.hpp"

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
    long const p = NextPosition::advance(t.state0);
    for (long d = 0; d < L.x[3] / 2; ++d) RotatePositions::rotate_pair<L>(p, d, 1, t.x, t.y);
  }
};

/// Attend<true> over `Positions` positions, of the next one, whose key and value it keeps beside those before it.
template <int Positions> struct AttendNextPosition : NextPosition {
  static constexpr auto name = Attend<true>::name;
  static constexpr auto equation = Attend<true>::equation;
  static constexpr Shape output(Shape x) { return Attend<true>::output(x); }
  static constexpr Shape state(Shape x) { return Shape(1 + 2 * Positions * x[2] * x[3]); }
  static constexpr long work(Shape x) { return Positions * Attend<true>::output(x).size(); }

  template <Local L, class Ctx, class T> static void forward(Ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    using Of = typename Attend<true>::template OneHead<L>;
    long const p = NextPosition::advance(t.state0);
    A *const keys = t.state0 + 1, *const values = keys + Positions * Of::part;
    for (long i = 0; i < Of::part; ++i) {
      keys[p * Of::part + i] = static_cast<A>(t.x[Of::queries * Of::part + i]);
      values[p * Of::part + i] = static_cast<A>(t.x[(Of::queries + 1) * Of::part + i]);
    }
    for (long n = 0; n < Of::heads; ++n) {
      Of const h(n);
      Attend<true>::template attend<L>(
          t.x + h.query(0), p + 1, [&](long k) { return keys + k * Of::part + h.group; },
          [&](long k) { return values + k * Of::part + h.group; }, [](long) { return true; }, t.y + h.output(0));
    }
  }
};

/// ChooseExperts of `Positions` positions, of the next one: its state also has how many positions each expert has
/// taken.
template <class Choose, int Positions> struct ChooseForNextPosition : NextPosition {
  static constexpr auto name = Choose::name;
  static constexpr auto equation = Choose::equation;
  static constexpr int weights = 1;
  static constexpr std::string_view weight_names[] = {"weight"};
  static constexpr Shape output(Shape x) { return Choose::output(x); }
  static constexpr Shape state(Shape x) { return Shape(1 + output(x)[1]); }
  static constexpr Weight weight(int, Shape x) { return Choose::weight(0, x); }
  static constexpr long aux(Shape x, Shape y) { return Choose::aux(x, y); }

  template <Local L, class Ctx, class T> static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    Choose::template forward<L>(ctx, t);
    NextPosition::advance(t.state0);
    for (int e = 0; e < L.y[1]; ++e) {
      A& taken = t.state0[1 + e];
      if (static_cast<A>(t.y[e]) == A{0}) continue;
      if (taken >= static_cast<A>(Choose::room(Positions))) t.y[e] = static_cast<T>(A{0});
      taken += A{1};
    }
  }
};

}  // namespace cleave::op
