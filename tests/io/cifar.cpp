// tests/io/cifar.cpp - CIFAR-10 binary files: full size, reduced, and damaged.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/cifar.hpp>

#include "scratch.hpp"

using namespace cleave::io;
using scratch::has;

namespace {

Images numbered(int count) {
  Images images{.count = count, .channels = 3, .height = 32, .width = 32, .pixels = {}, .labels = {}};
  images.pixels.resize(static_cast<std::size_t>(count) * cifar_picture);
  for (int i = 0; i < count; ++i) {
    // The first and last byte tell which picture it is, and whether a record slipped.
    images.pixels[static_cast<std::size_t>(i) * cifar_picture] = static_cast<unsigned char>(i);
    images.pixels[static_cast<std::size_t>(i + 1) * cifar_picture - 1] = static_cast<unsigned char>(i / 256);
    images.labels.push_back(static_cast<unsigned char>(i % 10));
  }
  return images;
}

bool same(Images const& a, Images const& b) {
  return a.count == b.count && a.stride() == b.stride() && a.pixels == b.pixels && a.labels == b.labels;
}

}  // namespace

TEST_CASE("io/cifar: 50,000 and 10,000 pictures of 3072 bytes with labels 0 to 9") {
  scratch::Folder const folder;
  Images const train = numbered(50000);
  Images const test = numbered(10000);
  write_cifar(folder / "cifar-10-batches-bin", train, test);
  for (int batch = 1; batch <= 5; ++batch)
    CHECK(exists(folder / ("cifar-10-batches-bin/data_batch_" + std::to_string(batch) + ".bin")));
  Images const read = read_cifar(folder.path(), Split::Train);
  CHECK(read.count == 50000);
  CHECK(read.pixels.size() == 50000UL * 3072);
  CHECK(same(read, train));
  Images const read_test = read_cifar(folder / "cifar-10-batches-bin", Split::Test);
  CHECK(read_test.count == 10000);
  CHECK(same(read_test, test));
}

TEST_CASE("io/cifar: the real set, where CLEAVE_DATA names its folder") {
  char const* const folder = std::getenv("CLEAVE_DATA");
  if (folder == nullptr) return;
  for (auto const& [split, count] : {std::pair(Split::Train, 50000), std::pair(Split::Test, 10000)}) {
    Images const images = read_cifar(folder, split);
    CHECK(images.count == count);
    CHECK(images.stride() == 3072);
    std::vector<int> per_class(10);
    for (int i = 0; i < images.count; ++i) ++per_class.at(static_cast<std::size_t>(images.label(i)));
    for (int const members : per_class) CHECK(members == count / 10);
  }
}

TEST_CASE("io/cifar: few pictures are spread and come back in order, and later batches may be missing") {
  for (int const count : {1, 4, 6, 23}) {
    scratch::Folder const folder;
    write_cifar(folder.path(), numbered(count), numbered(2));
    CHECK(same(read_cifar(folder.path(), Split::Train), numbered(count)));
    CHECK(same(read_cifar(folder.path(), Split::Train, 3), numbered(count < 3 ? count : 3)));
    CHECK(read_file(folder / "data_batch_1.bin").size() == static_cast<std::size_t>(count + 4) / 5 * 3073);
    std::remove((folder / "data_batch_3.bin").c_str());
    CHECK(read_cifar(folder.path(), Split::Train).count >= (count + 4) / 5);
    std::remove((folder / "data_batch_1.bin").c_str());
    CHECK(has(scratch::message([&] { read_cifar(folder.path(), Split::Train); }), "data_batch_1.bin: not found"));
  }
}

TEST_CASE("io/cifar: damaged files are refused with the file and the numbers") {
  scratch::Folder const folder;
  write_cifar(folder.path(), numbered(10), numbered(2));
  auto const refusal = [&](Split split) { return scratch::message([&] { read_cifar(folder.path(), split); }); };
  std::vector<unsigned char> file = read_file(folder / "data_batch_4.bin");
  file.pop_back();
  write_file(folder / "data_batch_4.bin", file);
  CHECK(has(refusal(Split::Train), "data_batch_4.bin: 6145 bytes is no multiple of the record size 3073"));
  file = read_file(folder / "test_batch.bin");
  file[3073] = 10;
  write_file(folder / "test_batch.bin", file);
  CHECK(has(refusal(Split::Test), "test_batch.bin: label 10 in record 1"));
  write_file(folder / "test_batch.bin", Bytes{});
  CHECK(has(refusal(Split::Test), "no pictures"));
}

TEST_CASE("io/cifar: pictures of another size are not written") {
  scratch::Folder const folder;
  Images const grey{
      .count = 1, .channels = 1, .height = 28, .width = 28, .pixels = std::vector<unsigned char>(784), .labels = {0}};
  CHECK(has(scratch::message([&] { write_cifar(folder / "x", grey, grey); }), "these are 1 x 28 x 28"));
  CHECK_FALSE(exists(folder / "x"));
}

TEST_CASE("io/cifar: CIFAR-100 has two labels and their names") {
  scratch::Folder const folder;
  std::vector<unsigned char> file;
  for (int i = 0; i < 3; ++i) {
    file.push_back(static_cast<unsigned char>(i + 5));
    file.push_back(static_cast<unsigned char>(97 + i));
    file.insert(file.end(), cifar_picture, static_cast<unsigned char>(i));
  }
  make_folder(folder / "cifar-100-binary");
  std::string const path = folder / "cifar-100-binary/train.bin",
                    names = folder / "cifar-100-binary/fine_label_names.txt";
  write_file(path, file);
  Images const fine = read_cifar100(folder.path(), Split::Train);
  CHECK(fine.count == 3);
  CHECK(fine.classes == 100);
  CHECK(fine.label(2) == 99);
  CHECK(fine.picture(1)[0] == 1);
  CHECK(fine.class_names.empty());
  CHECK(read_cifar100(folder.path(), Split::Train, CifarLabels::Coarse, 2).label(1) == 6);
  std::string text;
  for (int i = 0; i < 100; ++i) text += "class " + std::to_string(i) + "\r\n";
  write_file(names, {reinterpret_cast<unsigned char const*>(text.data()), text.size()});
  CHECK(read_cifar100(folder.path(), Split::Train).class_names[99] == "class 99");
  text = "one\ntwo";
  write_file(names, {reinterpret_cast<unsigned char const*>(text.data()), text.size()});
  CHECK_THROWS_WITH_AS(read_cifar100(folder.path(), Split::Train), doctest::Contains("2 names for 100 classes"),
                       cleave::Error);
  file[1] = 100;
  write_file(path, file);
  CHECK_THROWS_WITH_AS(read_cifar100(folder.path(), Split::Train), doctest::Contains("label 100 in record 0"),
                       cleave::Error);
  file.pop_back();
  write_file(path, file);
  CHECK_THROWS_WITH_AS(read_cifar100(folder.path(), Split::Train),
                       doctest::Contains("no multiple of the record size 3074"), cleave::Error);
  CHECK_THROWS_AS(read_cifar100(folder.path(), Split::Test), cleave::Error);
}
