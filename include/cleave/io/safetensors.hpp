// io/safetensors.hpp - loads checkpoints in the safetensors format and believes them only when every byte adds up.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cleave/io/checksum.hpp>
#include <cleave/io/file.hpp>
#include <cleave/io/json.hpp>
#include <cleave/io/named_tensor.hpp>
#include <cleave/io/safetensors_writer.hpp>
#include <cleave/meta/error.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::io {

/// Whether a file without checksums is believed. Every file saved here has them.
enum class Checksum { Required, IfPresent };

/// A safetensors file in memory, every claim of its header checked. Moves, never copies: its tensors point into it.
class SafeTensors {
 public:
  /// Takes a file's bytes; `source` begins every message. Throws Error when anything does not add up.
  SafeTensors(std::vector<unsigned char> file, std::string source, Checksum checksum)
      : file_(std::move(file)), source_(std::move(source)) {
    read(checksum);
  }
  SafeTensors(SafeTensors const&) = delete;
  SafeTensors& operator=(SafeTensors const&) = delete;
  SafeTensors(SafeTensors&&) = default;
  SafeTensors& operator=(SafeTensors&&) = default;
  ~SafeTensors() = default;

  /// In the order of their bytes. Files saved here keep each tensor aligned to its width; others need not.
  std::vector<NamedTensor> const& tensors() const { return tensors_; }

  /// The tensor of this name; null when there is none.
  NamedTensor const* find(std::string_view name) const {
    for (NamedTensor const& tensor : tensors_)
      if (tensor.name == name) return &tensor;
    return nullptr;
  }

  Metadata const& metadata() const { return metadata_; }

  /// The metadata under a key; null when there is none.
  std::string const* find_metadata(std::string_view key) const {
    for (auto const& entry : metadata_)
      if (entry.first == key) return &entry.second;
    return nullptr;
  }

 private:
  [[noreturn]] void refuse(std::string const& why) const {
    throw Error(source_ + ": refused as a safetensors file: " + why);
  }

  void read(Checksum checksum) {
    Bytes const file = file_;
    if (file.size() < 8) refuse("it has " + std::to_string(file.size()) + " bytes, the header's length alone takes 8");
    std::uint64_t length = 0;
    for (std::size_t i = 8; i-- > 0;) length = length << 8 | file[i];
    if (length > 100'000'000)
      refuse("its header claims " + std::to_string(length) + " bytes, more than the 100000000 the format allows");
    if (length > file.size() - 8)
      refuse("its header claims " + std::to_string(length) + " bytes, " + std::to_string(file.size() - 8) +
             " are there; the file is cut short");
    std::string_view const header(reinterpret_cast<char const*>(file.data()) + 8, length);
    if (!header.starts_with('{')) refuse("its header does not begin with '{'");
    Json const json = parse_json(header, source_ + ": header");
    payload_ = file.subspan(8 + length);
    if (Json const* entry = json.find("__metadata__")) read_metadata(*entry);
    // The header first: when its checksum fails, what it says of the payload means nothing.
    compare("header_checksum", header_checksum(header), checksum);
    for (std::size_t i = 0; i < json.names.size(); ++i)
      if (json.names[i] != "__metadata__") read_tensor(json.names[i], json.items[i]);
    check_layout();
    compare("checksum", Crc32c().add(payload_).value(), checksum);
  }

  void read_metadata(Json const& entry) {
    if (!entry.is(Json::Kind::Object)) refuse("__metadata__ is not an object");
    for (std::size_t i = 0; i < entry.names.size(); ++i) {
      if (!entry.items[i].is(Json::Kind::String)) refuse("metadata " + quote(entry.names[i]) + " is not a string");
      metadata_.emplace_back(entry.names[i], entry.items[i].string);
    }
  }

  void compare(std::string const& key, std::optional<std::uint32_t> found, Checksum checksum) const {
    std::string const* const claimed = find_metadata(key);
    if (claimed == nullptr && checksum == Checksum::IfPresent) return;
    if (claimed == nullptr) refuse("its metadata has no \"" + key + "\", so damage could not be seen");
    std::string const actual = found ? "crc32c:" + hex(*found) : "of no known form";
    if (*claimed != actual)
      refuse("its " + key + " is " + quote(*claimed) + " but its bytes give " + actual + "; the file was altered");
  }

  void read_tensor(std::string const& name, Json const& entry) {
    std::string const who = "tensor " + quote(name);
    Json const* const dtype = entry.find("dtype");
    Json const* const shape = entry.find("shape");
    Json const* const offsets = entry.find("data_offsets");
    if (dtype == nullptr || shape == nullptr || offsets == nullptr || entry.items.size() != 3)
      refuse(who + " needs dtype, shape and data_offsets, and nothing else");
    auto const* const known = std::find_if(dtype_facts.begin(), dtype_facts.end(),
                                           [&](DtypeFacts const& f) { return f.name == dtype->string; });
    if (known == dtype_facts.end()) refuse(who + " has the unknown dtype " + quote(dtype->string));
    NamedTensor tensor{
        name, static_cast<Dtype>(known - dtype_facts.begin()), read_naturals(who + "'s shape", *shape), {}};
    std::vector<std::size_t> const range = read_naturals(who + "'s data_offsets", *offsets);
    if (range.size() != 2) refuse(who + " has " + std::to_string(range.size()) + " data_offsets instead of 2");
    std::string const where = "[" + std::to_string(range[0]) + ", " + std::to_string(range[1]) + ")";
    if (range[0] > range[1] || range[1] > payload_.size())
      refuse(who + " claims the bytes " + where + " of a payload of " + std::to_string(payload_.size()) +
             "; the file is cut short or altered");
    std::optional<std::size_t> const size = byte_size(tensor.dtype, tensor.shape);
    if (size != range[1] - range[0])
      refuse(who + " takes " + (size ? std::to_string(*size) : "more than 2^64") + " bytes by its shape but claims " +
             where);
    tensor.bytes = payload_.subspan(range[0], range[1] - range[0]);
    tensors_.push_back(std::move(tensor));
  }

  std::vector<std::size_t> read_naturals(std::string const& what, Json const& list) const {
    std::vector<std::size_t> values;
    for (Json const& item : list.items) {
      if (!item.natural) break;
      values.push_back(*item.natural);
    }
    if (!list.is(Json::Kind::Array) || values.size() != list.items.size())
      refuse(what + " is not a list of whole numbers from 0 to 2^64-1");
    return values;
  }

  void check_layout() {
    std::sort(tensors_.begin(), tensors_.end(), [](NamedTensor const& a, NamedTensor const& b) {
      return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
    });
    auto const offset = [&](unsigned char const* at) { return std::to_string(at - payload_.data()); };
    unsigned char const* end = payload_.data();
    for (NamedTensor const& tensor : tensors_) {
      unsigned char const* const begin = tensor.bytes.data();
      if (begin != end)
        refuse("tensor " + quote(tensor.name) + " begins at byte " + offset(begin) +
               " of the payload, the one before ends at " + offset(end) +
               (begin < end ? ": they overlap" : ": that leaves a hole"));
      end = begin + tensor.bytes.size();
    }
    if (end != payload_.data() + payload_.size())
      refuse("its tensors end at byte " + offset(end) + " of a payload of " + std::to_string(payload_.size()));
  }

  std::vector<unsigned char> file_;
  std::string source_;
  Bytes payload_;
  std::vector<NamedTensor> tensors_;
  Metadata metadata_;
};

/// Reads and checks a safetensors file. Throws Error naming the file and what is wrong with it.
inline SafeTensors load_safetensors(std::string const& path, Checksum checksum = Checksum::Required) {
  return SafeTensors(read_file(path), path, checksum);
}

}  // namespace cleave::io
