// layer/gelu_tanh.hpp - GeluTanh: gelu by a tanh, as GPT-2 has it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "activation.hpp"

namespace cleave {

namespace layer {
/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, within 5e-4 of Gelu. Source: Hendrycks, Gimpel, "Gaussian error
/// linear units", 2016.
struct GeluTanhFunction {
  static constexpr auto name = "gelu_tanh";
  static constexpr bool from_output = false;
  template <class A> CLEAVE_HD static A bent(A x) {
    return tensor::tanh(A(0.79788456080286535588) * (x + A(0.044715) * x * x * x));
  }
  template <class A> CLEAVE_HD static A forward(A x) { return A{0.5} * x * (A{1} + bent(x)); }
  template <class A> CLEAVE_HD static A slope(A x) {
    A const t = bent(x), inner = A(0.79788456080286535588) * (A{1} + A(3 * 0.044715) * x * x);
    return A{0.5} * (A{1} + t + x * (A{1} - t * t) * inner);
  }
};
}  // namespace layer

/// PyTorch's GELU(approximate="tanh"), the `gelu_new` of transformers.
struct GeluTanh : Elementwise<layer::GeluTanhFunction> {};

}  // namespace cleave
