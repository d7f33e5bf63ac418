// io/images.hpp - a set of labelled images, the common form of all readers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cleave::io {

enum class Split { Train, Test };

/// `count` pictures of one size with one label each.
struct Images {
  int count = 0;
  int channels = 0;
  int height = 0;
  int width = 0;
  std::vector<unsigned char> pixels;  ///< (count, channels, height, width), 0 to 255
  std::vector<unsigned char> labels;  ///< (count)
  int classes = 0;                    ///< labels are below this; 0: unknown
  std::vector<std::string> class_names{};

  /// Bytes in one picture.
  std::size_t stride() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  }

  /// Picture i, (channels, height, width).
  std::span<unsigned char const> picture(int i) const {
    return std::span(pixels).subspan(static_cast<std::size_t>(i) * stride(), stride());
  }

  /// The input of sample i, and its number of channels.
  std::span<unsigned char const> input(int i) const { return picture(i); }
  int channel_count() const { return channels; }

  int label(int i) const { return labels[static_cast<std::size_t>(i)]; }

  /// Keeps the first `limit` pictures; a negative limit keeps all.
  void keep_first(int limit) {
    if (limit < 0 || limit >= count) return;
    count = limit;
    pixels.resize(static_cast<std::size_t>(limit) * stride());
    labels.resize(static_cast<std::size_t>(limit));
  }
};

}  // namespace cleave::io
