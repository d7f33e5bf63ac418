// io/safetensors_writer.hpp - saves a checkpoint in the safetensors format, under checksums that cover every byte.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cleave/io/checksum.hpp>
#include <cleave/io/file.hpp>
#include <cleave/io/json_line.hpp>
#include <cleave/io/named_tensor.hpp>
#include <cleave/meta/error.hpp>
#include <cleave/meta/in_library.hpp>
#include <cleave/meta/sort.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::io {

// The metadata key "checksum" covers the payload; "header_checksum" covers the header, its own eight digits read as
// zeros, so that not even a tensor's name can change unseen.
inline constexpr std::string_view header_checksum_mark = "\"header_checksum\":\"crc32c:";

inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<unsigned char const*>(text.data()), text.size()};
}

/// The header's checksum with its own digits read as zeros; nothing when the header has no place for it.
inline std::optional<std::uint32_t> header_checksum(std::string_view header) {
  std::size_t const mark = header.find(header_checksum_mark);
  std::size_t const digits = mark + header_checksum_mark.size();
  if (mark == std::string_view::npos || digits + 8 > header.size()) return std::nullopt;
  Crc32c crc;
  crc.add(bytes_of(header.substr(0, digits))).add(bytes_of("00000000")).add(bytes_of(header.substr(digits + 8)));
  return crc.value();
}

/// The header's checksum as it stands there, "crc32c:" and eight digits; only for a header that has a place for it.
inline std::string claimed_digits(std::string_view header) {
  std::size_t const digits = header.find(header_checksum_mark) + header_checksum_mark.size();
  return "crc32c:" + std::string(header.substr(digits, 8));
}

/// Refuses what the format cannot hold: `path` and the tensor's name are in the message.
[[gnu::cold]] inline void check_before_saving(std::string const& path, std::span<NamedTensor const> tensors,
                                              Metadata const& extra) {
  std::vector<std::string_view> names{"__metadata__"};
  std::vector<std::string_view> keys{"checksum", "header_checksum"};
  for (auto const& [key, value] : extra) {
    if (!is_utf8(key) || !is_utf8(value)) throw Error({path, ": metadata ", quote(key), " is not UTF-8"});
    keys.push_back(key);
  }
  for (NamedTensor const& tensor : tensors) {
    std::string const who = meta::joined({path, ": tensor ", quote(tensor.name)});
    if (!is_utf8(tensor.name)) throw Error({who, " has a name that is not UTF-8"});
    std::optional<std::size_t> const size = byte_size(tensor.dtype, tensor.shape);
    if (size != tensor.bytes.size())
      throw Error({who, " comes with ", tensor.bytes.size(), " bytes, its shape takes ",
                   (size ? std::to_string(*size) : "more than 2^64")});
    names.push_back(tensor.name);
  }
  for (auto* const list : {&names, &keys}) {
    meta::sort(std::span(*list), std::less<>());
    auto const twin = std::adjacent_find(list->begin(), list->end());
    if (twin != list->end()) throw Error({path, ": the name ", quote(*twin), " is taken; give each thing its own"});
  }
}

/// Wider types first: this keeps each tensor aligned to its own width without holes, which the format forbids.
inline std::vector<NamedTensor const*> by_width(std::span<NamedTensor const> tensors) {
  std::vector<NamedTensor const*> out;
  for (std::size_t const width : {8U, 4U, 2U, 1U}) {
    for (NamedTensor const& tensor : tensors) {
      if (facts(tensor.dtype).width == width) out.push_back(&tensor);
    }
  }
  return out;
}

/// Writes tensors and metadata as one safetensors file; the old file stays until the new one is complete. The keys
/// "checksum" and "header_checksum" are added to the metadata. Throws Error.
CLEAVE_IN_LIBRARY void save_safetensors(std::string const& path, std::vector<NamedTensor> const& tensors,
                                        Metadata const& extra = {}) {
  check_before_saving(path, tensors, extra);
  JsonLine object;
  Crc32c payload;
  std::size_t end = 0;
  std::vector<Bytes> parts(2);
  JsonLine entries;
  for (NamedTensor const* const of : by_width(tensors)) {
    NamedTensor const& tensor = *of;
    std::string shape;
    for (std::size_t const extent : tensor.shape) {
      meta::append(shape, {shape.empty() ? "" : ",", extent});
    }
    std::string const offsets = meta::joined({"[", end, ",", end + tensor.bytes.size(), "]"});
    end += tensor.bytes.size();
    payload.add(tensor.bytes);
    parts.push_back(tensor.bytes);
    object.add_raw(tensor.name, JsonLine()
                                    .add("dtype", facts(tensor.dtype).name)
                                    .add_raw("shape", meta::joined({"[", shape, "]"}))
                                    .add_raw("data_offsets", offsets)
                                    .text());
  }
  JsonLine metadata;
  for (auto const& [key, value] : extra) metadata.add(key, value);
  metadata.add("checksum", "crc32c:" + hex(payload.value())).add("header_checksum", "crc32c:00000000");
  std::string header =
      meta::joined({"{\"__metadata__\":", metadata.text(), tensors.empty() ? "" : ",", object.text().substr(1)});
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string const digits = hex(header_checksum(header).value());
  header.replace(header.find(header_checksum_mark) + header_checksum_mark.size(), 8, digits);

  std::array<unsigned char, 8> length{};
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(std::uint64_t{header.size()} >> 8 * i);
  parts[0] = length;
  parts[1] = bytes_of(header);
  write_file(path, parts);
}

}  // namespace cleave::io
