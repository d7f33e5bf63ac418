// backend/gpu/kernels/reshaped.cpp - operations on positions and on heads on a device, by the kernels of what they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/convolve.hpp>
#include <cleave/backend/gpu/kernels/norms.hpp>
#include <cleave/backend/gpu/kernels/product.hpp>
#include <cleave/backend/gpu/kernels/reshaped.hpp>
#include <cleave/op/attention.hpp>
#include <cleave/op/experts.hpp>
#include <cleave/op/recurrence.hpp>
#include <cleave/op/rms_norm.hpp>

#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;

TEST_CASE("positions: products, biases, norms") {
  using Product = op::OnEachPosition<op::Product<9>>;
  compare_products<Product, local<Product>(3, Shape(5, 17))>();
  static_assert(backend::gpu::takes_tail<Product>);
  using Bias = op::OnEachPosition<op::Bias>;
  compare_all<Bias, local<Bias>(3, Shape(5, 17))>();
  using Norm = op::OnEachPosition<op::LayerNorm>;
  compare_all<Norm, local<Norm>(3, Shape(5, 33))>();
}
TEST_CASE("root mean squares") {
  using Norm = op::OnEachPosition<op::RootMeanSquareNorm>;
  compare_all<Norm, local<Norm>(3, Shape(5, 33))>();
}
TEST_CASE("positions: losses of few rows, and of more than a block takes") {
  using Loss = op::OnEachPosition<op::SoftmaxCrossEntropy>;
  compare_all<Loss, local<Loss>(3, Shape(5, 10))>();
  compare_all<Loss, local<Loss>(40, Shape(5, 10))>();
  compare_all<Loss, local<Loss>(2, Shape(1, 10))>();
}
TEST_CASE("heads: products, biases, attention") {
  using Into = op::IntoHeads<3, op::Start::He>;
  compare_all<Into, local<Into>(2, Shape(5, 12))>();
  compare_all<op::BiasOfHeads, local<op::BiasOfHeads>(2, Shape(5, 3, 3, 4))>();
  using Out = op::OutOfHeads<op::Start::He>;
  compare_all<Out, local<Out>(2, Shape(5, 3, 4))>();
  compare_all<op::Attend<true>, local<op::Attend<true>>(2, Shape(7, 3, 2, 4))>();
  compare_all<op::Attend<false>, local<op::Attend<false>>(2, Shape(7, 3, 2, 4))>();
  compare_all<op::RotatePositions, local<op::RotatePositions>(2, Shape(7, 3, 2, 4))>();
  using Grouped = op::IntoHeads<6, op::Start::He, 2>;
  compare_all<Grouped, local<Grouped>(2, Shape(5, 12))>();
  compare_all<op::Attend<true>, local<op::Attend<true>>(2, Shape(7, 5, 2, 4))>();
  compare_all<op::RotatePositions, local<op::RotatePositions>(2, Shape(7, 5, 2, 4))>();
  compare_all<op::AddPositions, local<op::AddPositions>(3, Shape(4, 6))>();
}
TEST_CASE("experts: the choice, the ways to them and back, their products") {
  using Choose = op::ChooseExperts<4, 2, 75, 10>;
  compare_all<Choose, local<Choose>(3, Shape(7, 12))>();
  using All = op::ChooseExperts<3, 3, 100, 0>;  // the gates of these tests are not 0
  constexpr op::Local to{2, 2, Shape(5, 16), Shape(5, 3), Shape(48, 1, 5), {}, {}};
  compare_all<op::DispatchToExperts<All>, to>();
  compare_all<op::CombineExperts, op::Local{2, 2, to.y, to.x2, to.x, {}, {}}>();
  using Product = op::ProductOfExperts<6, 3, op::Start::He>;
  compare_all<Product, local<Product>(2, Shape(48, 1, 5))>();
}
TEST_CASE("the last position") { compare_all<op::TakeLast, local<op::TakeLast>(3, Shape(4, 6))>(); }
