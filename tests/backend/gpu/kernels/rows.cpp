// backend/gpu/kernels/rows.cpp - softmax with cross-entropy in one pass, layer normalisation: by warps and by blocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/norms.hpp>

#include <cleave/layer/loss.hpp>
#include "../compare.hpp"

using namespace cleave;
using namespace cleave::testing;

TEST_CASE("the gradient of a cross-entropy brings its loss") {
  using Op = op::SoftmaxCrossEntropy;
  constexpr op::Local l = local<Op>(37, Shape(10));
  Tensors<Op, l, float> a, b;
  Machine m;
  backend::gpu::Queue<Machine> const q{&m, m.stream(), nullptr};
  backend::gpu::Kernel<Op>::forward<l, false, void, float>(q, a.operands());
  backend::gpu::Kernel<Op>::backward_input<l, float>(q, b.operands());
  m.finish();
  CHECK(std::isfinite(a.loss[0]));
  CHECK(a.loss == b.loss);
}
TEST_CASE("rows of all lengths: less than a warp, a warp, more than a block takes") {
  compare_all<op::SoftmaxCrossEntropy, local<op::SoftmaxCrossEntropy>(3, Shape(10))>();
  compare_all<op::SoftmaxCrossEntropy, local<op::SoftmaxCrossEntropy>(40, Shape(33))>();
  compare_all<op::SoftmaxCrossEntropy, local<op::SoftmaxCrossEntropy>(131, Shape(10))>();
  compare_all<op::SoftmaxCrossEntropy, local<op::SoftmaxCrossEntropy>(65, Shape(1030))>();
  compare_all<op::SoftmaxCrossEntropy, local<op::SoftmaxCrossEntropy>(2, Shape(1500))>();
  compare_all<op::SquaredError, local<op::SquaredError>(3, Shape(10))>();
  using Smoothed = op::SoftmaxWithSmoothing<10>;
  compare_all<Smoothed, local<Smoothed>(40, Shape(33))>();
  compare_all<Smoothed, local<Smoothed>(2, Shape(1500))>();
  using Weighted = op::WeightedLoss<op::SoftmaxCrossEntropy, 100, 50, 300, 200, 0, 700, 100>;
  compare_all<Weighted, local<Weighted>(40, Shape(7))>();
  compare_all<Weighted, local<Weighted>(100, Shape(7))>();
  using OwnWeights = op::SampleWeightedLoss<op::SoftmaxCrossEntropy>;
  compare_all<OwnWeights, local<OwnWeights>(40, Shape(7))>();
  compare_all<OwnWeights, local<OwnWeights>(100, Shape(7))>();
  using OfPositions = op::SampleWeightedLoss<op::OnEachPosition<op::SoftmaxCrossEntropy>>;
  compare_all<OfPositions, local<OfPositions>(3, Shape(5, 9))>();
  compare_all<OfPositions, local<OfPositions>(40, Shape(3, 9))>();
  using OwnErrors = op::SampleWeightedLoss<op::SquaredError>;
  compare_all<OwnErrors, local<OwnErrors>(131, Shape(33))>();
  using Binary = op::FeatureLoss<layer::BinaryCrossEntropyFunction>;
  compare_all<Binary, local<Binary>(40, Shape(33))>();
  using BinaryOfEach = op::FeatureLoss<layer::WeightedBinaryFunction<100, 50, 300, 200, 0, 700, 100>>;
  compare_all<BinaryOfEach, local<BinaryOfEach>(40, Shape(7))>();
  using Robust = op::FeatureLoss<layer::HuberFunction<1, 2>>;
  compare_all<Robust, local<Robust>(131, Shape(10))>();
  compare_all<op::SquaredError, local<op::SquaredError>(131, Shape(33))>();
  compare_all<op::SquaredError, local<op::SquaredError>(2, Shape(1500))>();
  compare_all<op::LayerNorm, local<op::LayerNorm>(7, Shape(33))>();
  compare_all<op::LayerNorm, local<op::LayerNorm>(5, Shape(2, 3, 5))>();
  compare_all<op::LayerNorm, local<op::LayerNorm>(2, Shape(1100))>();
}
TEST_CASE("groups of channels: of all lengths, as the definition") {
  compare_all<op::NormaliseGroups<2>, local<op::NormaliseGroups<2>>(7, Shape(6, 3, 5))>();
  compare_all<op::NormaliseGroups<4>, local<op::NormaliseGroups<4>>(5, Shape(8))>();
  compare_all<op::NormaliseGroups<2>, local<op::NormaliseGroups<2>>(2, Shape(4, 20, 30))>();
}
