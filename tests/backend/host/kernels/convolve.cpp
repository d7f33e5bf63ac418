// tests/backend/host/kernels/convolve.cpp - the host's convolution against its definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolution.hpp"

using namespace test;

TEST_CASE("host convolution: as nets have them") {
  check_convolution<f32, op::Convolve<20, 5, 1, 2>, 2, 3, 32, 32>();
  check_convolution<f32, op::Convolve<9, 5>, 3, 1, 28, 28>();
  check_convolution<f32, op::Convolve<40, 3, 1, 1>, 2, 67, 14, 14>();
}

TEST_CASE("host convolution: strides, groups, odd extents, wide padding") {
  check_convolution<f32, op::Convolve<7, 3, 2, 1>, 2, 5, 11, 13>();
  check_convolution<f32, op::Convolve<6, 3, 2, 1, 2>, 2, 4, 9, 10>();
  check_convolution<f32, op::Convolve<5, 2, 1, 3>, 2, 3, 7, 5>();
  check_convolution<f32, op::Convolve<5, 1, 3, 0>, 2, 3, 7, 5>();
  check_convolution<f32, op::Convolve<130, 5>, 1, 2, 5, 5>();
}

TEST_CASE("host convolution: windows with gaps, a filter for each channel") {
  using enum op::Start;
  check_convolution<f32, op::Convolve<7, 3, 1, 2, 1, He, 2>, 2, 5, 11, 13>();
  check_convolution<f32, op::Convolve<6, 3, 2, 1, 2, He, 3>, 2, 4, 13, 10>();
  check_convolution<f32, op::Convolve<5, 5, 1, 0, 1, He, 2>, 1, 3, 12, 9>();
  check_convolution<bf16, op::Convolve<18, 3, 2, 4, 1, He, 4>, 1, 20, 21, 30>();
  check_convolution<f32, op::Convolve<16, 3, 1, 1, 16>, 2, 16, 9, 9>();
  check_convolution<f32, op::Convolve<16, 3, 2, 1, 8, He, 2>, 2, 8, 9, 9>();
}

TEST_CASE("host convolution: bands of a large image, f64, bf16, tf32 and fp8") {
  check_convolution<f32, op::Convolve<3, 3, 1, 1>, 1, 2, 190, 260>();
  check_convolution<f64, op::Convolve<5, 3, 2, 1>, 2, 4, 9, 12>();
  check_convolution<bf16, op::Convolve<18, 3, 1, 1>, 1, 40, 21, 30>();
  check_convolution<tf32, op::Convolve<18, 3, 1, 1>, 1, 40, 21, 30>();
  check_convolution<tf32, op::Convolve<6, 3, 2, 1>, 2, 3, 9, 8>();
  check_convolution<fp8, op::Convolve<18, 3, 1, 1>, 1, 40, 21, 30>();
  check_convolution<fp8, op::Convolve<6, 3, 2, 1, 2>, 2, 4, 9, 10>();
}
