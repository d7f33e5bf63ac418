// data/image_set.hpp - images in memory, as the readers of IDX and CIFAR files return them, as a data set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <utility>

#include "../io/images.hpp"
#include "../meta/error.hpp"
#include "dataset.hpp"

namespace cleave {

/// `ImageSet<Image<1, 28, 28>, Class<10>> const test(io::read_mnist(folder, io::Split::Test));`: pixels are 0 to 255.
/// Throws Error if the images have another size than the input, or a label is no class.
template <class InputT, class TargetT> class ImageSet {
 public:
  using Input = InputT;
  using Target = TargetT;
  static constexpr bool in_memory = true;

  explicit ImageSet(io::Images images) : images_(std::move(images)) {
    Shape const s = Input::shape;
    if (images_.channels != s[0] || images_.height != s[1] || images_.width != s[2])
      throw Error({"images of ", images_.channels, " x ", images_.height, " x ", images_.width,
                   ", but the data set's input is ", s[0], " x ", s[1], " x ", s[2]});
    for (int i = 0; i < images_.count; ++i) {
      if (images_.label(i) >= Target::classes)
        throw Error({"image ", i, ": label ", images_.label(i), ", but there are ", Target::classes, " classes, 0 to ",
                     Target::classes - 1});
    }
  }
  long size() const { return images_.count; }
  void read(long i, std::span<float> x, int& y) const {
    auto const pixels = images_.picture(static_cast<int>(i));
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(pixels[k]);
    y = label(i);
  }
  int label(long i) const { return images_.label(static_cast<int>(i)); }
  std::vector<std::string> const& class_names() const { return images_.class_names; }

 private:
  io::Images images_;
};

}  // namespace cleave
