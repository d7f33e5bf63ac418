// backend/cuda/few.cu - one kernel of each kind and one plan on two ranks: small enough for compute-sanitizer, and seen
// first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/backend/gpu/kernels/convolve.hpp>
#include <cleave/backend/gpu/kernels/norms.hpp>
#include <cleave/backend/gpu/kernels/product.hpp>
#include <cleave/op/pool.hpp>

#include "../../train/on_device.hpp"
#include "../gpu/compare.hpp"

using namespace cleave;
using namespace cleave::testing;

TEST_CASE("a product: plain, by tensor cores") {
  compare<op::Product<37>, local<op::Product<37>>(13, Shape(21)), float, true, layer::ReluFunction>(1e-5);
  compare<op::Product<72>, local<op::Product<72>>(72, Shape(136)), bf16, true>(1e-2);
}
TEST_CASE("a product by warpgroups, in parts too") {
  compare<op::Product<136>, local<op::Product<136>>(72, Shape(520)), bf16, true, layer::ReluFunction>(1e-2);
}
TEST_CASE("what has no kernel, by its definition, forward and back") {
  compare<op::MeanWindow<2>, local<op::MeanWindow<2>>(2, Shape(3, 8, 6)), float>(1e-5);
}
TEST_CASE("a convolution") {
  using Op = op::Convolve<5, 3, 1, 1>;
  compare<Op, local<Op>(3, Shape(2, 6, 5)), float>(1e-5);
}
TEST_CASE("rows and columns: normalisation, a loss, the sums of a batch") {
  compare<op::LayerNorm, local<op::LayerNorm>(2, Shape(1100)), float>(1e-5);
  compare<op::SoftmaxCrossEntropy, local<op::SoftmaxCrossEntropy>(40, Shape(33)), float>(1e-5);
  compare<op::BatchSums, local<op::BatchSums>(301, Shape(45)), float>(1e-5);
}
TEST_CASE("a plan: eight ranks have the bits of one, in bf16") {
  as_on_threads<Of<Mlp, DataParallel<Sync>, Precision<bf16>, AdamW>>(2e-2, {1, 8});
}
