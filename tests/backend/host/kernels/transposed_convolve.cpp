// tests/backend/host/kernels/transposed_convolve.cpp - the host's transposed convolution against its definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolution.hpp"

using namespace test;

TEST_CASE("host transposed convolution: as nets have them, and as parts of an image's rows have them") {
  check_convolution<f32, op::TransposedConvolve<21, 4, 2, 1>, 2, 21, 12, 9>();
  check_convolution<f32, op::TransposedConvolve<8, 2, 2>, 2, 16, 7, 8>();
  check_convolution<f32, op::TransposedConvolve<5, 16, 8, 4>, 1, 5, 6, 7>();
  check_convolution<f32, op::TransposedConvolve<6, 4, 2, 3>, 2, 5, 8, 11>();
}
TEST_CASE("host transposed convolution: odd extents, gaps between windows, other formats") {
  check_convolution<f32, op::TransposedConvolve<3, 3, 1, 1>, 2, 4, 5, 7>();
  check_convolution<f32, op::TransposedConvolve<3, 2, 3>, 2, 4, 5, 3>();
  check_convolution<f64, op::TransposedConvolve<3, 5, 2, 2>, 2, 3, 6, 5>();
  check_convolution<bf16, op::TransposedConvolve<9, 4, 2, 1>, 1, 20, 9, 10>();
  check_convolution<fp8, op::TransposedConvolve<9, 4, 2, 1>, 1, 20, 9, 10>();
}
