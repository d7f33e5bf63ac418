// tests/fuzz/safetensors.cpp - safetensors files, with and without checksums.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/io/safetensors.hpp>

#include "fuzz.hpp"

using namespace cleave::io;

namespace {
std::string by_hand(std::string const& header, std::size_t payload) {
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  return file + header + std::string(payload, 'x');
}
}  // namespace

std::vector<std::string> fuzz::seeds() {
  std::string const path = "/tmp/cleave-fuzz-" + std::to_string(::getpid());
  std::vector<unsigned char> const bytes(24, 7);
  save_safetensors(
      path, {{"w", Dtype::F32, {2, 2}, Bytes(bytes).first(16)}, {"b", Dtype::BF16, {1, 4}, Bytes(bytes).last(8)}},
      {{"step", "3"}});
  std::string const saved = text_of(read_file(path));
  ::unlink(path.c_str());
  return {saved, by_hand("{}", 0), by_hand(R"({"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", 4),
          by_hand(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"__metadata__":{"k":"v"}})", 0)};
}

void fuzz::read(std::string_view input) {
  SafeTensors const file(std::vector<unsigned char>(input.begin(), input.end()), "input", Checksum::IfPresent);
  std::size_t bytes = 0;
  unsigned sum = 0;
  for (NamedTensor const& tensor : file.tensors()) {
    check(byte_size(tensor.dtype, tensor.shape) == tensor.bytes.size(), "a tensor has the bytes of its shape");
    for (unsigned char const byte : tensor.bytes) sum += byte;
    bytes += tensor.bytes.size();
  }
  check(bytes <= input.size() && sum <= 255 * bytes, "tensors lie in the file, none on another");
}
