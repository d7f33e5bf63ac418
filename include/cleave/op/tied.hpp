// op/tied.hpp - a table of tokens that is also the weight of a later product, and that product: y = x W^T, "bi,oi->bo".
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "lookup.hpp"
#include "product.hpp"

namespace cleave::op {

/// Whether an operation shares its weight with another of the model, and has it or reads it.
enum class Tie : unsigned char { None, Has, Reads };
template <class Op> inline constexpr Tie tie_of = Tie::None;

/// x (b, i), W (Out, i), y (b, Out). In a model W is the table of a TiedLookup, in whose gradient this one's is.
template <int Out> struct TransposedProduct : Base {
  static constexpr auto name = "tied_product";
  static constexpr auto equation = "bi,oi->bo";
  static constexpr int weights = 1;
  static constexpr bool linear = true, contracts = true, reads_x = true;
  static constexpr Shape output(Shape) { return Shape(Out); }
  static constexpr Weight weight(int, Shape x) {
    return {Shape(Out, static_cast<int>(x.size())), Start::He, 2 * static_cast<int>(x.size()), Out};
  }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long out = L.w0[0], in = L.w0[1];
    auto const of_x = tensor::Factor<T>::of(t.x, L.rows * in);
    auto const of_w = tensor::Factor<T>::of(t.w0, out * in);
    ctx.each(L.rows * out, [&](long e) {
      A sum = 0;
      for (long i = 0; i < in; ++i) sum += of_x(t.x[e / out * in + i]) * of_w(t.w0[e % out * in + i]);
      t.y[e] = static_cast<T>(sum);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long out = L.w0[0], in = L.w0[1];
    auto const of_dy = tensor::Factor<T, tensor::Role::Gradient>::of(t.dy, L.rows * out);
    auto const of_w = tensor::Factor<T>::of(t.w0, out * in);
    ctx.each(L.rows * in, [&](long e) {  // dx (b, i) = dy (b, o) W
      A sum = 0;
      for (long o = 0; o < out; ++o) sum += of_dy(t.dy[e / in * out + o]) * of_w(t.w0[o * in + e % in]);
      t.dx[e] = static_cast<T>(sum);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long out = L.w0[0], in = L.w0[1];
    auto const of_x = tensor::Factor<T>::of(t.x, L.rows * in);
    auto const of_dy = tensor::Factor<T, tensor::Role::Gradient>::of(t.dy, L.rows * out);
    ctx.each(out * in, [&](long e) {  // dW (o, i) = dy^T x
      A sum = 0;
      for (long b = 0; b < L.rows; ++b) sum += of_dy(t.dy[b * out + e / in]) * of_x(t.x[b * in + e % in]);
      t.dw0[e] = sum;
    });
  }
};
template <int Out> inline constexpr Tie tie_of<TransposedProduct<Out>> = Tie::Reads;
template <int Out> inline constexpr bool sums_in_blocks<TransposedProduct<Out>> = true;

/// Lookup of a table whose gradient has two parts: first that of the TransposedProduct that reads it too, whose x and
/// dy are those of `tail`, then the rows of its own dy, in the order of the tokens.
template <int Vocabulary, int Features, bool Numbers = false, bool Split = false>
struct TiedLookup : Lookup<Vocabulary, Features, false, Numbers, Split> {
  using Table = Lookup<Vocabulary, Features, false, Numbers, Split>;
  using Reader = TransposedProduct<Vocabulary>;
  /// Normal with deviation sqrt(1 / Features), so that outputs of the reader start near 1 where its inputs are.
  static constexpr Weight weight(int, Shape) {
    return {Shape(Vocabulary, Features), Start::He, 2 * Features, Vocabulary};
  }
  /// Ranks have the positions of the output that they have of the reader's input.
  static constexpr auto equation = Split ? Table::equation : "bT,VF->btF";
  /// The extents of the reader, which has as many rows as there are tokens here.
  CLEAVE_HD static constexpr Local of_reader(Local l) {
    int const tokens = l.y[0];
    Local to;
    to.rows = l.rows * tokens;
    to.batch = l.batch * tokens;
    to.x = Shape(l.w0[1]);
    to.y = Shape(l.w0[0]);
    to.w0 = l.w0;
    return to;
  }
  template <class T> CLEAVE_HD static Operands<T> reader(Operands<T> const& t) {
    Operands<T> to = t.tail[0];
    to.dw0 = t.dw0;
    return to;
  }
  /// Feature f of dy of each token, added to the row of its gradient.
  template <Local L, class T> CLEAVE_HD static void add_rows(Operands<T> const& t, long f) {
    for (long k = 0; k < L.rows * L.y[0]; ++k) {
      long const to = Table::template row<L>(t, k);
      if (to >= 0) t.dw0[to * Features + f] += static_cast<tensor::accumulate_t<T>>(t.dy[k * Features + f]);
    }
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    Reader::template backward_weight<of_reader(L)>(ctx, reader(t));
    ctx.each(Features, [&](long f) { add_rows<L>(t, f); });
  }
};
template <int Vocabulary, int Features, bool Numbers, bool Split>
inline constexpr Tie tie_of<TiedLookup<Vocabulary, Features, Numbers, Split>> = Tie::Has;
template <class Op>
requires requires { typename Op::of_position; }
inline constexpr Tie tie_of<Op> = tie_of<typename Op::of_position>;

}  // namespace cleave::op
