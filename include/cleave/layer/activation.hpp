// layer/activation.hpp - Relu, Gelu, GeluTanh, Silu, Tanh, Sigmoid, and `Elementwise<F>` for your function with its derivative.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/map.hpp"
#include "../tensor/elementary.hpp"
#include "graph.hpp"

namespace cleave {

/// F has `name`, `forward(x)`, and `slope(v)`: the derivative, of v = y if `from_output`, of v = x otherwise. With
/// `keeps_zeros`, forward(0) is 0 and slope is finite there: ways may then have unequal parts of its input.
template <class F> struct Elementwise : layer::Chain<op::Map<F>> {};

namespace layer {

struct ReluFunction {
  static constexpr auto name = "relu";
  static constexpr auto known = op::Known::Relu;
  static constexpr bool from_output = true, keeps_zeros = true;
  template <class A> CLEAVE_HD static A forward(A x) { return x < A{0} ? A{0} : x; }  // keeps a NaN
  template <class A> CLEAVE_HD static A slope(A y) { return y > A{0} ? A{1} : A{0}; }
};

/// x Phi(x), with the exact normal distribution. Source: Hendrycks, Gimpel, "Gaussian error linear units", 2016.
struct GeluFunction {
  static constexpr auto name = "gelu";
  static constexpr bool from_output = false, keeps_zeros = true;
  template <class A> CLEAVE_HD static A below(A x) {
    return A{0.5} * (A{1} + tensor::erf(x * A(0.70710678118654752440)));
  }
  template <class A> CLEAVE_HD static A forward(A x) { return x * below(x); }
  template <class A> CLEAVE_HD static A slope(A x) {
    return below(x) + x * A(0.39894228040143267794) * tensor::exp(A{-0.5} * x * x);
  }
};

/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, within 5e-4 of Gelu. Source: Hendrycks, Gimpel, "Gaussian error
/// linear units", 2016.
struct GeluTanhFunction {
  static constexpr auto name = "gelu_tanh";
  static constexpr bool from_output = false, keeps_zeros = true;
  template <class A> CLEAVE_HD static A bent(A x) {
    return tensor::tanh(A(0.79788456080286535588) * (x + A(0.044715) * x * x * x));
  }
  template <class A> CLEAVE_HD static A forward(A x) { return A{0.5} * x * (A{1} + bent(x)); }
  template <class A> CLEAVE_HD static A slope(A x) {
    A const t = bent(x), inner = A(0.79788456080286535588) * (A{1} + A(3 * 0.044715) * x * x);
    return A{0.5} * (A{1} + t + x * (A{1} - t * t) * inner);
  }
};

struct TanhFunction {
  static constexpr auto name = "tanh";
  static constexpr bool from_output = true, keeps_zeros = true;
  template <class A> CLEAVE_HD static A forward(A x) { return tensor::tanh(x); }
  template <class A> CLEAVE_HD static A slope(A y) { return A{1} - y * y; }
};

struct SigmoidFunction {
  static constexpr auto name = "sigmoid";
  static constexpr bool from_output = true;
  template <class A> CLEAVE_HD static A forward(A x) { return tensor::logistic(x); }
  template <class A> CLEAVE_HD static A slope(A y) { return y * (A{1} - y); }
};

/// x sigmoid(x). Source: Elfwing et al., "Sigmoid-weighted linear units", 2018.
struct SiluFunction {
  static constexpr auto name = "silu";
  static constexpr bool from_output = false, keeps_zeros = true;
  template <class A> CLEAVE_HD static A forward(A x) { return x * tensor::logistic(x); }
  template <class A> CLEAVE_HD static A slope(A x) {
    A const s = tensor::logistic(x);
    return s + x * s * (A{1} - s);
  }
};

}  // namespace layer

struct Relu : Elementwise<layer::ReluFunction> {};
struct Gelu : Elementwise<layer::GeluFunction> {};
/// PyTorch's GELU(approximate="tanh"), the `gelu_new` of transformers.
struct GeluTanh : Elementwise<layer::GeluTanhFunction> {};
struct Silu : Elementwise<layer::SiluFunction> {};
struct Tanh : Elementwise<layer::TanhFunction> {};
struct Sigmoid : Elementwise<layer::SigmoidFunction> {};

}  // namespace cleave
