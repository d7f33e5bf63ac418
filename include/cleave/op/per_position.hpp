// op/per_position.hpp - an operation on each position of a sequence by itself: "bi,io->bo" becomes "bTi,io->bTo".
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <string_view>

#include "reshaped.hpp"

namespace cleave::op {

/// An equation with T behind the batch letter of everything but a loss.
struct EquationPerPosition {
  std::array<char, 40> text{};
  std::size_t size = 0;

  constexpr explicit EquationPerPosition(std::string_view of) {
    for (std::size_t i = 0; i < of.size(); ++i) {
      bool const first = i == 0 || of[i - 1] == ',' || of[i - 1] == '>';
      text[size++] = of[i];
      if (first && of[i] == 'b' && i + 1 < of.size()) text[size++] = 'T';
    }
  }
};

/// The positions of L, dimension 0 of x, as samples.
CLEAVE_HD constexpr Local by_position(Local l) {
  int const positions = l.x[0];
  l.rows *= positions;
  l.batch *= positions;
  l.y = l.y == Shape(1) ? l.y : l.y.below();  // that of a loss has none
  l.x = l.x.below();
  l.labels = 1;
  return l;
}

/// Op, which has one input and keeps nothing between steps, on x (b, T, ...) as on b T samples.
template <class Op> struct PerPosition : Reshaped<PerPosition<Op>, Op> {
  using of_position = Op;
  static constexpr bool of_sequences = true;
  static constexpr EquationPerPosition letters{Op::equation};
  static constexpr std::string_view equation{letters.text.data(), letters.size};
  CLEAVE_HD static constexpr Local as(Local l) { return by_position(l); }
  static constexpr Shape output(Shape x) { return Op::output(x.below()).times(x[0]); }
  static constexpr Weight weight(int which, Shape x) { return Op::weight(which, x.below()); }
  static constexpr long aux(Shape x, Shape y) { return x[0] * Op::aux(x.below(), y.below()); }
};

/// A loss of classes, one for each position; that of a sample is the mean over its positions.
template <class Op>
requires(Op::is_loss) struct PerPosition<Op> : Op {
  using of_position = Op;
  static constexpr bool of_sequences = true;
  static constexpr EquationPerPosition letters{Op::equation};
  static constexpr std::string_view equation{letters.text.data(), letters.size};
  static constexpr Shape output(Shape x) { return Op::output(x.below()); }
  static constexpr long aux(Shape x, Shape y) { return x[0] * Op::aux(x.below(), y); }
  static constexpr int labels(Shape x) { return x[0]; }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    Op::template forward<by_position(L)>(ctx, t);
    ctx.each(1, [&](long) { *t.loss /= static_cast<tensor::accumulate_t<T>>(L.x[0]); });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> t) {
    t.scale /= static_cast<tensor::accumulate_t<T>>(L.x[0]);
    Op::template backward_input<by_position(L)>(ctx, t);
  }
};

/// Op cannot be used on each position: a plan with it does not compile.
template <class Op> struct SeesAllPositions : Op { static constexpr bool sees_all_positions = true; };

}  // namespace cleave::op
