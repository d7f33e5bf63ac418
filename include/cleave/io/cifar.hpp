// io/cifar.hpp - reads the binary files of CIFAR-10 and CIFAR-100, and writes those of CIFAR-10.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cleave/io/file.hpp>
#include <cleave/io/images.hpp>
#include <cleave/meta/error.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::io {

inline constexpr std::array<std::string_view, 10> cifar_names{"airplane", "automobile", "bird",  "cat",  "deer",
                                                              "dog",      "frog",       "horse", "ship", "truck"};

inline constexpr std::size_t cifar_picture = 3072;              ///< bytes: 3 planes of 32 x 32
inline constexpr std::size_t cifar_record = 1 + cifar_picture;  ///< bytes: the label goes first

/// Records of labels and a picture.
struct CifarRecords {
  std::string_view set = "CIFAR-10";
  std::size_t labels = 1, label = 0;  ///< how many go first, and which is read
  int classes = 10;
};

/// Adds the records of one file to `images`. Throws Error on a size that is no whole number of records, and on a label
/// that is no class.
inline void append_cifar(Images& images, std::string const& path, CifarRecords const& of = {}) {
  std::vector<unsigned char> const file = read_file(path);
  std::size_t const size = of.labels + cifar_picture;
  if (file.size() % size != 0)
    throw Error({path, ": ", file.size(), " bytes is no multiple of the record size ", size,
                 "; the file is cut short or not ", of.set, " binary"});
  images.pixels.reserve(images.pixels.size() + file.size());
  for (std::size_t at = 0; at < file.size(); at += size) {
    auto const record = std::span(file).subspan(at, size);
    if (record[of.label] >= of.classes)
      throw Error(
          {path, ": label ", record[of.label], " in record ", at / size, "; labels go from 0 to ", of.classes - 1});
    images.labels.push_back(record[of.label]);
    images.pixels.insert(images.pixels.end(), record.begin() + static_cast<std::ptrdiff_t>(of.labels), record.end());
    ++images.count;
  }
}

/// CIFAR-10, or a set in its format, from `folder` or `folder/cifar-10-batches-bin`: pictures (count, 3, 32, 32) and
/// labels 0 to 9, the first `limit` of them unless negative. A reduced set may lack data_batch_2 to 5. Throws Error.
template <class = void> Images read_cifar(std::string const& folder, Split split, int limit = -1) {
  Images images{.count = 0, .channels = 3, .height = 32, .width = 32, .pixels = {}, .labels = {}};
  std::string const first = split == Split::Test ? "test_batch.bin" : "data_batch_1.bin";
  std::string const path = locate(folder, "cifar-10-batches-bin", first);
  append_cifar(images, path);
  for (char batch = '2'; batch <= '5' && split == Split::Train; ++batch) {
    if (limit >= 0 && images.count >= limit) break;
    std::string const more = folder_of(path) + "/data_batch_" + batch + ".bin";
    if (exists(more)) append_cifar(images, more);
  }
  if (images.count == 0) throw Error({path, ": no pictures in this file"});
  images.keep_first(limit);
  images.classes = 10;
  images.class_names.assign(cifar_names.begin(), cifar_names.end());
  return images;
}

/// Which labels of CIFAR-100: the 100 classes, or the 20 groups of five that they are in.
enum class CifarLabels : unsigned char { Fine, Coarse };

/// CIFAR-100, from `folder` or `folder/cifar-100-binary`: pictures (count, 3, 32, 32) and labels 0 to 99 (Coarse: 0 to
/// 19), the first `limit` of them unless negative; classes have their names if the file with them is there. Throws
/// Error.
template <class = void>
Images read_cifar100(std::string const& folder, Split split, CifarLabels which = CifarLabels::Fine, int limit = -1) {
  bool const fine = which == CifarLabels::Fine;
  CifarRecords const records{.set = "CIFAR-100", .labels = 2, .label = fine ? 1u : 0u, .classes = fine ? 100 : 20};
  Images images{.count = 0, .channels = 3, .height = 32, .width = 32, .pixels = {}, .labels = {}};
  images.classes = records.classes;
  std::string const path = locate(folder, "cifar-100-binary", split == Split::Test ? "test.bin" : "train.bin");
  append_cifar(images, path, records);
  if (images.count == 0) throw Error({path, ": no pictures in this file"});
  images.keep_first(limit);
  std::string const names = folder_of(path) + (fine ? "/fine_label_names.txt" : "/coarse_label_names.txt");
  if (!exists(names)) return images;
  std::string name;
  for (unsigned char const c : read_file(names)) {
    if (c != '\n' && c != '\r') name += static_cast<char>(c);
    if (c == '\n' && !name.empty()) images.class_names.push_back(std::exchange(name, {}));
  }
  if (!name.empty()) images.class_names.push_back(name);
  if (static_cast<int>(images.class_names.size()) != images.classes)
    throw Error({names, ": ", images.class_names.size(), " names for ", images.classes, " classes"});
  return images;
}

/// Writes pictures first to last-1 as one CIFAR-10 batch.
inline void write_cifar_batch(std::string const& path, Images const& images, int first, int last) {
  std::vector<unsigned char> file;
  file.reserve(static_cast<std::size_t>(last - first) * cifar_record);
  for (int i = first; i < last; ++i) {
    auto const picture = images.picture(i);
    file.push_back(static_cast<unsigned char>(images.label(i)));
    file.insert(file.end(), picture.begin(), picture.end());
  }
  write_file(path, file);
}

/// Writes a set of (3, 32, 32) pictures as CIFAR-10 binary files into `folder`, which is made if need be; the training
/// pictures are spread over the five batches. Throws Error.
inline void write_cifar(std::string const& folder, Images const& train, Images const& test) {
  for (Images const* images : {&train, &test}) {
    if (images->channels != 3 || images->height != 32 || images->width != 32)
      throw Error({folder, ": CIFAR-10 files hold pictures of 3 x 32 x 32, these are ", images->channels, " x ",
                   images->height, " x ", images->width});
  }
  make_folder(folder);
  // Rounded up, so that few pictures fill the first batch: a reader may do without the others.
  auto const start = [&](long batch) { return static_cast<int>((batch * train.count + 4) / 5); };
  for (int batch = 0; batch < 5; ++batch)
    write_cifar_batch(folder + "/data_batch_" + std::to_string(batch + 1) + ".bin", train, start(batch),
                      start(batch + 1));
  write_cifar_batch(folder + "/test_batch.bin", test, 0, test.count);
}

}  // namespace cleave::io
