// io/safetensors.hpp - loads checkpoints in the safetensors format; every byte is checked.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cleave/io/checksum.hpp>
#include <cleave/io/file.hpp>
#include <cleave/io/json.hpp>
#include <cleave/io/named_tensor.hpp>
#include <cleave/io/safetensors_writer.hpp>
#include <cleave/meta/error.hpp>
#include <cleave/meta/in_library.hpp>
#include <cleave/meta/sort.hpp>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::io {

/// Whether a file without checksums is accepted. Every file saved here has them.
enum class Checksum { Required, IfPresent };

/// A safetensors file in memory with a checked header. It can be moved, not copied: its tensors point into it.
class SafeTensors {
 public:
  /// Takes a file's bytes; `source` begins every message. Throws Error if anything is inconsistent.
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
    throw Error({source_, ": refused as a safetensors file: ", why});
  }

  template <class = void> void read(Checksum checksum) {
    Bytes const file = file_;
    if (file.size() < 8) refuse("it has " + std::to_string(file.size()) + " bytes, the header's length alone takes 8");
    std::uint64_t length = 0;
    for (std::size_t i = 8; i-- > 0;) length = length << 8 | file[i];
    if (length > 100'000'000)
      refuse("its header claims " + std::to_string(length) +
             " bytes, more than the 100000000 the format allows; this is a file of another kind");
    if (length > file.size() - 8)
      refuse("its header claims " + std::to_string(length) + " bytes, " + std::to_string(file.size() - 8) +
             " are there; the file is cut short");
    std::string_view const header(reinterpret_cast<char const*>(file.data()) + 8, length);
    if (!header.starts_with('{')) refuse("its header does not begin with '{'");
    // Checked before parsing: if the checksum fails, the header means nothing.
    std::optional<std::uint32_t> const found = header_checksum(header);
    if (found) compare_value("header_checksum", claimed_digits(header), *found);
    payload_ = file.subspan(8 + length);
    auto const objects = static_cast<std::size_t>(std::count(header.begin(), header.end(), '{'));
    tensors_.reserve(std::min(objects, header.size() / shortest_entry));
    JsonReader json(header, source_ + ": header");
    json.next();
    while (json.next() == JsonToken::Name) {
      if (json.string() == "__metadata__") {
        read_metadata(json);
      } else {
        read_tensor(json);
      }
    }
    json.next();  // nothing may follow
    compare("header_checksum", found, checksum);
    check_layout();
    compare("checksum", Crc32c().add(payload_).value(), checksum);
  }

  void read_metadata(JsonReader& json) {
    if (json.next() != JsonToken::BeginObject) refuse("__metadata__ is not an object");
    while (json.next() == JsonToken::Name) {
      if (json.string().size() > longest_name)
        refuse("it has a metadata key of more than " + std::to_string(longest_name) + " bytes");
      std::string key = json.string();
      if (json.next() != JsonToken::String) refuse("metadata " + quote(key) + " is not a string");
      if (metadata_.size() == most_metadata)
        refuse("it has more than " + std::to_string(most_metadata) + " metadata keys");
      metadata_.emplace_back(std::move(key), json.string());
    }
  }

  void compare(std::string const& key, std::optional<std::uint32_t> found, Checksum checksum) const {
    std::string const* const claimed = find_metadata(key);
    if (claimed == nullptr && checksum == Checksum::IfPresent) return;
    if (claimed == nullptr)
      refuse("its metadata has no \"" + key +
             "\", so damage could not be seen; a file that cleave has not written is read with TorchNames");
    if (!found || claimed->size() != std::string_view("crc32c:00000000").size())
      refuse("its " + key + " is of no known form, so damage could not be seen");
    compare_value(key, *claimed, *found);
  }
  void compare_value(std::string const& key, std::string const& claimed, std::uint32_t found) const {
    std::string const actual = "crc32c:" + hex(found);
    if (claimed != actual)
      refuse("its " + key + " is " + quote(claimed) + " but its bytes give " + actual + "; the file was altered");
  }

  void read_tensor(JsonReader& json) {
    if (json.string().size() > longest_name)
      refuse("it names a tensor by more than " + std::to_string(longest_name) + " bytes");
    NamedTensor tensor{json.string(), Dtype::F32, {}, {}};
    std::string const who = "tensor " + quote(tensor.name);
    auto const strange = [&] { refuse(who + " needs dtype, shape and data_offsets, and nothing else"); };
    if (json.next() != JsonToken::BeginObject) strange();
    std::vector<std::size_t> range;
    int members = 0;  // the reader refuses a key that comes twice
    while (json.next() == JsonToken::Name) {
      ++members;
      if (json.string() == "dtype") {
        tensor.dtype = read_dtype(who, json);
      } else if (json.string() == "shape") {
        tensor.shape = read_naturals(who, "shape", most_extents, json);
      } else if (json.string() == "data_offsets") {
        range = read_naturals(who, "data_offsets", most_extents, json);
      } else {
        strange();
      }
    }
    if (members != 3) strange();
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

  Dtype read_dtype(std::string const& who, JsonReader& json) const {
    std::string const name = json.next() == JsonToken::String ? json.string() : "";
    auto const* const known =
        std::find_if(dtype_facts.begin(), dtype_facts.end(), [&](DtypeFacts const& f) { return f.name == name; });
    if (known == dtype_facts.end()) refuse(who + " has the unknown dtype " + quote(name.substr(0, 80)));
    return static_cast<Dtype>(known - dtype_facts.begin());
  }

  std::vector<std::size_t> read_naturals(std::string const& who, std::string const& what, std::size_t most,
                                         JsonReader& json) const {
    std::vector<std::size_t> values;
    bool whole = json.next() == JsonToken::BeginArray;
    while (whole && json.next() != JsonToken::EndArray) {
      whole = json.token() == JsonToken::Number && json.natural().has_value();
      if (values.size() == most) refuse(who + " has more than " + std::to_string(most) + " numbers as its " + what);
      if (whole) values.push_back(*json.natural());
    }
    if (!whole) refuse(who + "'s " + what + " is not a list of whole numbers from 0 to 2^64-1");
    values.shrink_to_fit();
    return values;
  }

  void check_layout() {
    meta::sort(std::span(tensors_), [](NamedTensor const& a, NamedTensor const& b) {
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

  // What is kept of a header is bounded by these: 10 MB of header take at most 40 MB.
  static constexpr std::size_t shortest_entry = 50;  // bytes: "":{"dtype":"U8","shape":[],"data_offsets":[0,1]}
  static constexpr std::size_t longest_name = 65536;
  static constexpr std::size_t most_extents = 64;
  static constexpr std::size_t most_metadata = 65536;

  std::vector<unsigned char> file_;
  std::string source_;
  Bytes payload_;
  std::vector<NamedTensor> tensors_;
  Metadata metadata_;
};

/// Reads and checks a safetensors file. Throws Error naming the file and what is wrong with it, also where it does not
/// fit in memory. Refused too: a name longer than 65536 bytes, a tensor of more than 64 extents, more than 65536 keys
/// of metadata.
CLEAVE_IN_LIBRARY SafeTensors load_safetensors(std::string const& path, Checksum checksum = Checksum::Required) {
  try {
    return SafeTensors(read_file(path), path, checksum);
  } catch (std::bad_alloc const&) {
    throw Error({path, ": refused as a safetensors file: there is no memory for what its header lists"});
  }
}

}  // namespace cleave::io
