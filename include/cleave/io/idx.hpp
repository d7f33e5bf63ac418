// io/idx.hpp - reads MNIST from the IDX files it is published in.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cleave/io/file.hpp>
#include <cleave/io/images.hpp>
#include <cleave/meta/error.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace cleave::io {

/// An IDX file of unsigned bytes: its extents and its data in row-major order.
struct IdxFile {
  std::vector<std::size_t> extents;
  std::vector<unsigned char> data;
};

/// Reads an IDX file of bytes with this many dimensions. Throws Error on another magic number, a cut file, extra bytes.
inline IdxFile read_idx(std::string const& path, unsigned dimensions) {
  std::vector<unsigned char> file = read_file(path);
  auto const number = [&](std::size_t at) {
    return std::uint32_t{file[at]} << 24 | std::uint32_t{file[at + 1]} << 16 | std::uint32_t{file[at + 2]} << 8 |
           std::uint32_t{file[at + 3]};
  };
  std::size_t const head = 4 + 4 * std::size_t{dimensions};
  std::string const size = std::to_string(file.size());
  if (file.size() < head) throw Error({path, ": cut short: ", size, " bytes, an IDX header takes ", head});
  std::uint32_t const magic = 0x800U + dimensions;
  if (number(0) != magic)
    throw Error({path, ": not the IDX file expected: it begins with the number ", number(0), " instead of ", magic,
                 (file[0] == 0x1F ? "; unpack it with gunzip first" : "")});
  IdxFile idx;
  // Three 32-bit extents can wrap 64 bits; stopping at the first product past the file keeps the number honest.
  std::uint64_t wanted = 1;
  bool fits = true;
  for (std::size_t at = 4; at < head; at += 4) {
    idx.extents.push_back(number(at));
    wanted *= number(at);
    fits = fits && wanted <= std::numeric_limits<std::uint32_t>::max();
  }
  if (!fits) throw Error({path, ": its header claims more than 2^32 values"});
  if (file.size() - head != wanted)
    throw Error({path, (file.size() - head < wanted ? ": cut short: " : ": bytes left over: "), size,
                 " bytes, its header asks for ", head + wanted});
  file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(head));
  idx.data = std::move(file);
  return idx;
}

/// MNIST, or a set in its format, from `folder` or `folder/mnist`: pictures (count, 1, height, width) and labels 0 to
/// 9, the first `limit` of them unless negative. How many there are is the files' own word. Throws Error.
template <class = void> Images read_mnist(std::string const& folder, Split split, int limit = -1) {
  std::string const prefix = split == Split::Train ? "train" : "t10k";
  std::string const picture_path = locate(folder, "mnist", prefix + "-images-idx3-ubyte");
  std::string const label_path = locate(folder, "mnist", prefix + "-labels-idx1-ubyte");
  IdxFile pictures = read_idx(picture_path, 3);
  IdxFile labels = read_idx(label_path, 1);
  if (pictures.extents[0] != labels.extents[0])
    throw Error({label_path, ": ", labels.extents[0], " labels, but ", picture_path, " holds ", pictures.extents[0],
                 " pictures; take both from one set"});
  auto const strange = std::find_if(labels.data.begin(), labels.data.end(), [](unsigned char l) { return l > 9; });
  if (strange != labels.data.end())
    throw Error(
        {label_path, ": label ", *strange, " at position ", strange - labels.data.begin(), "; labels go from 0 to 9"});
  Images images{.count = static_cast<int>(pictures.extents[0]),
                .channels = 1,
                .height = static_cast<int>(pictures.extents[1]),
                .width = static_cast<int>(pictures.extents[2]),
                .pixels = std::move(pictures.data),
                .labels = std::move(labels.data),
                .classes = 10};
  images.keep_first(limit);
  return images;
}

}  // namespace cleave::io
