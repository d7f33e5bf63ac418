// op/product.hpp - y = x W, the matrix product "bi,io->bo". Its three contractions are its forward and its adjoints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "../tensor/factor.hpp"
#include "operands.hpp"

namespace cleave::op {

/// These kernels are the definition in plain loops; backends have faster ones, which tests compare with it.
template <int Out, Start How = Start::He> struct Product : Base {
  static constexpr auto name = "product";
  static constexpr auto equation = "bi,io->bo";
  static constexpr int weights = 1;
  static constexpr bool linear = true, contracts = true, reads_x = true;
  static constexpr Shape output(Shape) { return Shape(Out); }
  static constexpr Weight weight(int, Shape x) {
    return {Shape(static_cast<int>(x.size()), Out), How, static_cast<int>(x.size()), Out};
  }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long in = L.w0[0], out = L.w0[1];
    auto const of_x = tensor::Factor<T>::of(t.x, L.rows * in);
    auto const of_w = tensor::Factor<T>::of(t.w0, in * out);
    ctx.each(L.rows * out, [&](long e) {  // y (b, o)
      A sum = 0;
      for (long i = 0; i < in; ++i) sum += of_x(t.x[e / out * in + i]) * of_w(t.w0[i * out + e % out]);
      t.y[e] = static_cast<T>(sum);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long in = L.w0[0], out = L.w0[1];
    auto const of_dy = tensor::Factor<T, tensor::Role::Gradient>::of(t.dy, L.rows * out);
    auto const of_w = tensor::Factor<T>::of(t.w0, in * out);
    ctx.each(L.rows * in, [&](long e) {  // dx (b, i) = dy (b, o) W^T
      A sum = 0;
      for (long o = 0; o < out; ++o) sum += of_dy(t.dy[e / in * out + o]) * of_w(t.w0[e % in * out + o]);
      t.dx[e] = static_cast<T>(sum);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long in = L.w0[0], out = L.w0[1];
    auto const of_x = tensor::Factor<T>::of(t.x, L.rows * in);
    auto const of_dy = tensor::Factor<T, tensor::Role::Gradient>::of(t.dy, L.rows * out);
    ctx.each(in * out, [&](long e) {  // dW (i, o) = x^T dy
      A sum = 0;
      for (long b = 0; b < L.rows; ++b) sum += of_x(t.x[b * in + e / out]) * of_dy(t.dy[b * out + e % out]);
      t.dw0[e] = sum;
    });
  }
};
template <int Out, Start How> inline constexpr bool sums_in_blocks<Product<Out, How>> = true;

}  // namespace cleave::op
