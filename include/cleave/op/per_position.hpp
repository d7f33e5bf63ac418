// op/per_position.hpp - an operation on each position of a sequence by itself: "bi,io->bo" becomes "bti,io->bto".
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <string_view>

#include "reshaped.hpp"

namespace cleave::op {

/// An equation with the letter of positions behind the batch letter of everything but a loss: t, of which ranks may
/// have parts, or T.
struct EquationPerPosition {
  std::array<char, 40> text{};
  std::size_t size = 0;

  constexpr explicit EquationPerPosition(std::string_view of, char positions) {
    for (std::size_t i = 0; i < of.size(); ++i) {
      bool const first = i == 0 || of[i - 1] == ',' || of[i - 1] == '>';
      text[size++] = of[i];
      if (first && of[i] == 'b' && i + 1 < of.size()) text[size++] = positions;
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
  l.x2 = l.x2.dims > 1 ? l.x2.below() : l.x2;
  l.labels = 1;
  return l;
}

/// Op, which has one input and keeps nothing between steps, on x (b, t, ...) as on b t samples.
template <class Op> struct OnEachPosition : Reshaped<OnEachPosition<Op>, Op> {
  using of_position = Op;
  static constexpr bool of_sequences = true;
  static constexpr EquationPerPosition letters{Op::equation, 't'};
  static constexpr std::string_view equation{letters.text.data(), letters.size};
  CLEAVE_HD static constexpr Local as(Local l) { return by_position(l); }
  static constexpr Shape output(Shape x) { return Op::output(x.below()).times(x[0]); }
  static constexpr Weight weight(int which, Shape x) { return Op::weight(which, x.below()); }
  static constexpr long aux(Shape x, Shape y) { return x[0] * Op::aux(x.below(), y.below()); }
};

/// Of sample b of a loss at each position: 1 / how many of its positions count.
template <Local L, class T> CLEAVE_HD tensor::accumulate_t<T> share_of_position(Operands<T> const& t, long b) {
  int counted = 0;
  for (long p = 0; p < L.labels; ++p) counted += t.labels[b * L.labels + p] != ignored;
  return tensor::accumulate_t<T>{1} / static_cast<tensor::accumulate_t<T>>(counted > 1 ? counted : 1);
}

/// A loss of classes, one for each position; that of a sample is the mean over its positions whose class is not
/// `ignored`, 0 if all are.
template <class Op>
requires(Op::is_loss) struct OnEachPosition<Op> : Op {
  using of_position = Op;
  static constexpr bool of_sequences = true;
  static constexpr EquationPerPosition letters{Op::equation, 'T'};
  static constexpr std::string_view equation{letters.text.data(), letters.size};
  static constexpr Shape output(Shape x) { return Op::output(x.below()); }
  static constexpr long aux(Shape x, Shape y) { return x[0] * Op::aux(x.below(), y); }
  static constexpr int labels(Shape x) { return x[0]; }

  template <Local L, class T> CLEAVE_HD static Operands<T> position(Operands<T> const& t, long at) {
    constexpr Local one = one_position(L);
    return slice_of<one>(t, at, kept<L>);
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    A total = 0;
    for (long b = 0; b < L.rows; ++b) {
      A sum = 0;
      for (long p = b * L.x[0]; p < (b + 1) * L.x[0]; ++p) {
        if (t.labels[p] == ignored) continue;
        Operands<T> at = position<L>(t, p);
        A loss = 0;
        at.loss = &loss;
        Op::template forward<one_position(L)>(ctx, at);
        sum += loss;
      }
      total += sum * share_of_position<L>(t, b);
    }
    ctx.each(1, [&](long) { *t.loss = total; });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    for (long b = 0; b < L.rows; ++b) {
      A const scale = t.scale * share_of_position<L>(t, b);
      for (long p = b * L.x[0]; p < (b + 1) * L.x[0]; ++p) {
        Operands<T> at = position<L>(t, p);
        at.scale = scale;
        if (t.labels[p] == ignored) {
          ctx.each(L.x.below().size(), [&](long i) { at.dx[i] = static_cast<T>(A{0}); });
        } else {
          Op::template backward_input<one_position(L)>(ctx, at);
        }
      }
    }
  }

 private:
  template <Local L> static constexpr long kept = Op::aux(L.x.below(), L.y);
  CLEAVE_HD static constexpr Local one_position(Local l) {
    l = by_position(l);
    l.rows = 1;
    return l;
  }
};

/// Op cannot be used on each position: a plan with it does not compile.
template <class Op> struct SeesAllPositions : Op { static constexpr bool sees_all_positions = true; };

}  // namespace cleave::op
