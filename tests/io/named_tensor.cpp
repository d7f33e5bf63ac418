// io/named_tensor.cpp - sizes in bytes, zero and too large ones among them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/io/named_tensor.hpp>

using namespace cleave::io;

namespace {
std::optional<std::size_t> bytes(Dtype d, std::vector<std::size_t> const& shape) { return byte_size(d, shape); }
}  // namespace

TEST_CASE("bytes of a shape") {
  CHECK(bytes(Dtype::F32, {2, 3}) == 24);
  CHECK(bytes(Dtype::BF16, {5}) == 10);
  CHECK(bytes(Dtype::U8, {}) == 1);  // a scalar
  CHECK(bytes(Dtype::F64, {0, 7}) == 0);
}
TEST_CASE("what no memory holds has no size, unless an extent is zero") {
  std::size_t const huge = std::size_t{1} << 40;
  CHECK(bytes(Dtype::F32, {huge, huge}) == std::nullopt);
  CHECK(bytes(Dtype::F32, {huge, huge, 0}) == 0);
  CHECK(bytes(Dtype::F64, {std::size_t{1} << 61}) == std::nullopt);
  CHECK(bytes(Dtype::U8, {std::size_t{1} << 61}) == std::size_t{1} << 61);
}
TEST_CASE("each format has its name and width") {
  CHECK(facts(Dtype::F64).name == "F64");
  CHECK(facts(Dtype::U8).width == 1);
  CHECK(facts(Dtype::BF16).width == 2);
}
