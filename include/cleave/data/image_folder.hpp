// data/image_folder.hpp - a folder of pictures as a data set, a folder a class. Needs stb (Debian: libstb-dev); not in cleave.hpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../io/file.hpp"
#include "dataset.hpp"

// A program that compiles stb's functions itself, in this source file, has included them before.
#ifndef STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#endif
#if __has_include(<stb_image.h>)
#include <stb_image.h>
#else
#include <stb/stb_image.h>
#endif
#ifndef STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#endif
#if __has_include(<stb_image_resize2.h>)
#include <stb_image_resize2.h>
#define CLEAVE_STB_RESIZE2 1
#elif __has_include(<stb/stb_image_resize2.h>)
#include <stb/stb_image_resize2.h>
#define CLEAVE_STB_RESIZE2 1
#elif __has_include(<stb_image_resize.h>)
#include <stb_image_resize.h>
#else
#include <stb/stb_image_resize.h>
#endif

namespace cleave {

/// `ImageFolder<Image<3, 64, 64>, Class<2>> const pets("pets");`: pets/cat/*.jpg is of class 0, pets/dog/*.png of class
/// 1: folders in sorted order, whose names are saved with the weights. JPEG, PNG and BMP; Image<1, ...> is grey,
/// Image<3, ...> colours. Pixels are 0 to 255; a picture of another size is resized, whatever its proportions. Files
/// are listed when it is made, and each is read when it is needed. Throws Error if there are not as many folders as
/// classes, if one is empty, or, with its path, if a file is no picture.
template <class InputT, class TargetT> class ImageFolder {
 public:
  using Input = InputT;
  using Target = TargetT;
  static_assert(Input::shape.dims == 3 && (Input::shape[0] == 1 || Input::shape[0] == 3),
                "ImageFolder: its input is Image<1, height, width>, grey, or Image<3, height, width>");

  explicit ImageFolder(std::string const& path) {
    for (std::string const& name : names_in(path))
      if (is_folder(path + "/" + name)) class_names_.push_back(name);
    if (class_names_.size() != static_cast<std::size_t>(Target::classes))
      throw Error({path, ": ", class_names_.size(), " folders, but the data set's type has ", Target::classes,
                   " classes; a folder holds the pictures of one class"});
    for (std::size_t c = 0; c < class_names_.size(); ++c) {
      std::string const folder = path + "/" + class_names_[c];
      std::size_t const before = files_.size();
      for (std::string const& name : names_in(folder)) {
        if (!is_picture(name)) continue;
        files_.push_back(folder + "/" + name);
        labels_.push_back(static_cast<int>(c));
      }
      if (files_.size() == before) throw Error({folder, ": no file ends with .jpg, .jpeg, .png or .bmp"});
    }
  }

  long size() const { return static_cast<long>(files_.size()); }
  void read(long i, std::span<float> x, int& y) const {
    std::string const& path = file(i);
    std::vector<unsigned char> const bytes = io::read_file(path);
    int width = 0, height = 0, channels = 0;
    std::unique_ptr<stbi_uc, void (*)(void*)> const pixels(
        stbi_load_from_memory(bytes.data(), static_cast<int>(bytes.size()), &width, &height, &channels, wanted.e0),
        &stbi_image_free);
    if (!pixels) throw Error({path, ": is no picture that can be read (", stbi_failure_reason(), ")"});
    unsigned char const* from = pixels.get();
    std::vector<unsigned char> resized;
    if (width != wanted.e2 || height != wanted.e1) {
      resized.resize(x.size());
      if (!resize(from, width, height, resized.data())) throw Error({path, ": cannot be resized"});
      from = resized.data();
    }
    auto const plane = x.size() / static_cast<std::size_t>(wanted.e0);
    for (std::size_t p = 0; p < plane; ++p) {  // (h, w, c) to (c, h, w)
      for (std::size_t c = 0; c < static_cast<std::size_t>(wanted.e0); ++c)
        x[c * plane + p] = static_cast<float>(*from++);
    }
    y = label(i);
  }
  int label(long i) const { return labels_[static_cast<std::size_t>(i)]; }
  std::string const& file(long i) const { return files_[static_cast<std::size_t>(i)]; }
  std::vector<std::string> const& class_names() const { return class_names_; }

 private:
  static constexpr Shape wanted = Input::shape;

  static bool resize(unsigned char const* from, int width, int height, unsigned char* to) {
#ifdef CLEAVE_STB_RESIZE2
    return stbir_resize_uint8_linear(from, width, height, 0, to, wanted.e2, wanted.e1, 0,
                                     wanted.e0 == 1 ? STBIR_1CHANNEL : STBIR_RGB) != nullptr;
#else
    return stbir_resize_uint8(from, width, height, 0, to, wanted.e2, wanted.e1, 0, wanted.e0) != 0;
#endif
  }
  /// Sorted, without those that begin with a point.
  static std::vector<std::string> names_in(std::string const& path) {
    std::unique_ptr<DIR, int (*)(DIR*)> const folder(::opendir(path.c_str()), &::closedir);
    if (!folder) throw Error({path, ": cannot open this folder: ", io::errno_text(errno)});
    std::vector<std::string> names;
    while (dirent const* const entry = ::readdir(folder.get()))
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    std::sort(names.begin(), names.end());
    return names;
  }
  static bool is_folder(std::string const& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
  }
  static bool is_picture(std::string name) {
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return name.ends_with(".jpg") || name.ends_with(".jpeg") || name.ends_with(".png") || name.ends_with(".bmp");
  }

  std::vector<std::string> class_names_, files_;
  std::vector<int> labels_;
};

}  // namespace cleave
#undef CLEAVE_STB_RESIZE2
