// io/picture.hpp - colour images as PNG files, and a sheet of samples of a data set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cleave/io/checksum.hpp>
#include <cleave/io/file.hpp>
#include <cleave/io/images.hpp>
#include <cleave/meta/error.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::io {

/// Rows of red, green, blue bytes from the top.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<unsigned char> rgb;  ///< (height, width, 3)
};

inline void append_big_endian(std::vector<unsigned char>& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<unsigned char>(value >> shift));
}

/// The check value of a zlib stream.
inline std::uint32_t adler32(std::span<unsigned char const> bytes) {
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (unsigned char const byte : bytes) {
    low = (low + byte) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16 | low;
}

/// A zlib stream that stores its bytes uncompressed: larger, but any reader accepts it.
inline std::vector<unsigned char> zlib_stored(std::span<unsigned char const> bytes) {
  std::vector<unsigned char> out{0x78, 0x01};
  std::size_t at = 0;
  do {
    std::size_t const size = std::min<std::size_t>(bytes.size() - at, 65535);
    out.push_back(at + size == bytes.size() ? 1 : 0);
    for (std::size_t const word : {size, ~size})
      for (int const shift : {0, 8}) out.push_back(static_cast<unsigned char>(word >> shift));
    out.insert(out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
               bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += size;
  } while (at < bytes.size());
  append_big_endian(out, adler32(bytes));
  return out;
}

inline void append_png_chunk(std::vector<unsigned char>& out, std::string_view type, Bytes data) {
  append_big_endian(out, static_cast<std::uint32_t>(data.size()));
  std::size_t const begin = out.size();
  out.insert(out.end(), type.begin(), type.end());
  out.insert(out.end(), data.begin(), data.end());
  append_big_endian(out, Crc32().add(Bytes(out).subspan(begin)).value());
}

/// Writes (height, width, 3) bytes as an RGB PNG. Throws Error, also when the bytes do not fit the size.
inline void write_png(std::string const& path, int width, int height, std::span<unsigned char const> rgb) {
  std::size_t const row = 3 * static_cast<std::size_t>(width);
  if (width < 1 || height < 1 || rgb.size() != row * static_cast<std::size_t>(height))
    throw Error({path, ": a picture of ", width, " x ", height, " cannot have ", rgb.size(), " bytes"});
  std::vector<unsigned char> lines;
  lines.reserve(rgb.size() + static_cast<std::size_t>(height));
  for (auto rest = rgb; !rest.empty(); rest = rest.subspan(row)) {
    lines.push_back(0);  // each line begins with its filter: none
    lines.insert(lines.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(row));
  }
  std::vector<unsigned char> head;
  append_big_endian(head, static_cast<std::uint32_t>(width));
  append_big_endian(head, static_cast<std::uint32_t>(height));
  head.insert(head.end(), {8, 2, 0, 0, 0});  // 8 bits a sample, RGB, the rest standard
  std::vector<unsigned char> file{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  append_png_chunk(file, "IHDR", head);
  append_png_chunk(file, "IDAT", zlib_stored(lines));
  append_png_chunk(file, "IEND", {});
  write_file(path, file);
}

inline void write_png(std::string const& path, Picture const& picture) {
  write_png(path, picture.width, picture.height, picture.rgb);
}

/// The first `per_class` images of each class 0 to 9, a class a line, with margins of 2 pixels; at twice their size,
/// or, if they are larger than 96 pixels, every n-th pixel of every n-th row, so that they are not. Colour sets have
/// three channels, grey ones one; the line of a class with too few ends white.
inline Picture sample_sheet(Images const& images, int per_class) {
  constexpr int classes = 10;
  constexpr int margin = 2;
  constexpr int most = 96;
  int const larger = std::max(images.width, images.height);
  int const zoom = larger <= most ? 2 : 1, skip = (larger + most - 1) / most;
  int const width = zoom * ((images.width + skip - 1) / skip), height = zoom * ((images.height + skip - 1) / skip);
  int const step_x = width + margin, step_y = height + margin;
  Picture sheet{.width = margin + per_class * step_x, .height = margin + classes * step_y, .rgb = {}};
  sheet.rgb.assign(3 * static_cast<std::size_t>(sheet.width) * static_cast<std::size_t>(sheet.height), 255);
  std::size_t const plane = static_cast<std::size_t>(images.width) * static_cast<std::size_t>(images.height);
  std::array<int, classes> placed{};
  for (int i = 0; i < images.count; ++i) {
    int const label = images.label(i);
    if (label >= classes || placed[static_cast<std::size_t>(label)] == per_class) continue;
    int const left = margin + step_x * placed[static_cast<std::size_t>(label)]++;
    int const top = margin + step_y * label;
    auto const pixels = images.picture(i);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        auto const from = static_cast<std::size_t>(y / zoom * skip) * static_cast<std::size_t>(images.width) +
                          static_cast<std::size_t>(x / zoom * skip);
        auto const to = 3 * (static_cast<std::size_t>(top + y) * static_cast<std::size_t>(sheet.width) +
                             static_cast<std::size_t>(left + x));
        for (std::size_t c = 0; c < 3; ++c) sheet.rgb[to + c] = pixels[from + (images.channels == 3 ? c * plane : 0)];
      }
    }
  }
  return sheet;
}

}  // namespace cleave::io
