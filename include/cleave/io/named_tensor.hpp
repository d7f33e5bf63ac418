// io/named_tensor.hpp - an array by name: what checkpoints are made of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::io {

enum class Dtype { F64, F32, BF16, F16, I64, I32, U8, I8 };

struct DtypeFacts {
  std::string_view name;
  std::size_t width;  ///< bytes
};

inline constexpr std::array<DtypeFacts, 8> dtype_facts{
    {{"F64", 8}, {"F32", 4}, {"BF16", 2}, {"F16", 2}, {"I64", 8}, {"I32", 4}, {"U8", 1}, {"I8", 1}}};

constexpr DtypeFacts facts(Dtype dtype) { return dtype_facts[static_cast<std::size_t>(dtype)]; }

/// A named array in row-major order, little-endian; it does not own its bytes. An empty shape is a scalar.
struct NamedTensor {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::size_t> shape;
  std::span<unsigned char const> bytes;
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

/// Bytes that a tensor takes; nothing when the product does not fit in 64 bits.
inline std::optional<std::size_t> byte_size(Dtype dtype, std::span<std::size_t const> shape) {
  if (std::find(shape.begin(), shape.end(), std::size_t{0}) != shape.end()) return 0;
  std::size_t size = facts(dtype).width;
  for (std::size_t const extent : shape) {
    if (size > std::numeric_limits<std::size_t>::max() / extent) return std::nullopt;
    size *= extent;
  }
  return size;
}

}  // namespace cleave::io
