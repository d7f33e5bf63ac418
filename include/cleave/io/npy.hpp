// io/npy.hpp - an array in NumPy's .npy format, mapped. Format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "mapped_file.hpp"

namespace cleave::io {

/// An array of rows, in C order: f4, f8, u1, u2, u4, i1, i4, i8 or b1, little-endian. Throws Error where the file is
/// another one.
class NpyFile {
 public:
  explicit NpyFile(std::string const& path) : file_(path), path_(path) {
    std::string_view const all(reinterpret_cast<char const*>(file_.bytes().data()), file_.bytes().size());
    if (!all.starts_with("\x93NUMPY") || all.size() < 12) fail({"is no .npy file: it does not begin as one"});
    auto const byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(all[i])); };
    bool const first = byte(6) == 1;
    if (byte(6) < 1 || byte(6) > 3) fail({"is a .npy file of version ", byte(6), "; 1, 2, 3 are read"});
    std::size_t const from = first ? 10 : 12,
                      length = byte(8) | byte(9) << 8 | (first ? 0 : byte(10) << 16 | byte(11) << 24);
    if (length > all.size() - from) fail({"is cut short: its header ends behind the file"});
    std::string_view const header = all.substr(from, length);
    read_type(text_of(header, "descr"));
    if (value_of(header, "fortran_order").starts_with("True"))
      fail({"is in Fortran order; save numpy.ascontiguousarray(a)"});
    read_shape(value_of(header, "shape"));
    std::size_t const data = all.size() - from - length;
    std::size_t wanted = width_;
    for (std::size_t const e : shape_) {
      if (e > 0 && wanted > std::numeric_limits<std::size_t>::max() / e) fail({"has more elements than memory could"});
      wanted *= e;
    }
    if (data != wanted)
      fail({data < wanted ? "is cut short: " : "has bytes left over: ", data, " bytes of data, its header asks for ",
            wanted});
    at_ = file_.bytes().data() + from + length;
  }

  /// Extents, the number of rows first.
  std::vector<std::size_t> const& shape() const { return shape_; }
  /// Elements of one row.
  std::size_t row() const {
    std::size_t n = 1;
    for (std::size_t d = 1; d < shape_.size(); ++d) n *= shape_[d];
    return n;
  }
  std::string const& type() const { return type_; }
  std::string const& path() const { return path_; }
  bool whole_numbers() const { return type_[0] != 'f'; }
  /// Elements [first, first + count) as numbers; whole ones above 2^24 lose digits in a float.
  template <class To> void read(std::size_t first, std::size_t count, To* to) const {
    unsigned char const* p = at_ + first * width_;
    if (type_ == "f4") {
      convert<float>(p, count, to);
    } else if (type_ == "f8") {
      convert<double>(p, count, to);
    } else if (type_ == "u1" || type_ == "b1") {
      convert<std::uint8_t>(p, count, to);
    } else if (type_ == "i1") {
      convert<std::int8_t>(p, count, to);
    } else if (type_ == "u2") {
      convert<std::uint16_t>(p, count, to);
    } else if (type_ == "u4") {
      convert<std::uint32_t>(p, count, to);
    } else if (type_ == "i4") {
      convert<std::int32_t>(p, count, to);
    } else {
      convert<std::int64_t>(p, count, to);
    }
  }

 private:
  [[noreturn]] void fail(meta::Pieces what) const { throw Error({path_, ": ", meta::joined(what)}); }
  template <class From, class To> static void convert(unsigned char const* p, std::size_t count, To* to) {
    static_assert(std::endian::native == std::endian::little);
    for (std::size_t i = 0; i < count; ++i, p += sizeof(From)) {
      From v;
      std::memcpy(&v, p, sizeof v);
      to[i] = static_cast<To>(v);
    }
  }
  /// What stands behind 'key': in the header, a dictionary as Python prints it.
  std::string_view value_of(std::string_view header, std::string_view key) const {
    std::string const quoted = "'" + std::string(key) + "':";
    std::size_t const at = header.find(quoted);
    if (at == std::string_view::npos) fail({"has a header without ", quoted});
    std::string_view const rest = header.substr(at + quoted.size());
    std::size_t const begin = rest.find_first_not_of(' ');
    return begin == std::string_view::npos ? std::string_view{} : rest.substr(begin);
  }
  std::string text_of(std::string_view header, std::string_view key) const {
    std::string_view const value = value_of(header, key);
    std::size_t const end = value.size() > 1 ? value.find('\'', 1) : std::string_view::npos;
    if (value.empty() || value[0] != '\'' || end == std::string_view::npos)
      fail({"holds records or objects; save an array of numbers"});
    return std::string(value.substr(1, end - 1));
  }
  void read_type(std::string const& descr) {
    type_ = descr.size() == 3 ? descr.substr(1) : descr;
    bool const known = type_ == "f4" || type_ == "f8" || type_ == "u1" || type_ == "b1" || type_ == "i1" ||
                       type_ == "u2" || type_ == "u4" || type_ == "i4" || type_ == "i8";
    bool const order = descr.size() == 3 && (descr[0] == '<' || descr[0] == '|');
    if (!known || !order)
      fail({"holds elements of type '", descr,
            "'; '<f4', '<f8', '|u1', '|i1', '<u2', '<u4', '<i4', '<i8', '|b1' are read"});
    width_ = static_cast<std::size_t>(type_[1] - '0');
  }
  void read_shape(std::string_view text) {
    if (text.empty() || text[0] != '(') fail({"has a header without a shape"});
    for (std::size_t i = 1; i < text.size() && text[i] != ')';) {
      std::size_t value = 0, digits = 0;
      for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && digits < 18; ++i, ++digits)
        value = 10 * value + static_cast<std::size_t>(text[i] - '0');
      if (digits > 0) shape_.push_back(value);
      if (digits == 0 && text[i] != ',' && text[i] != ' ') fail({"has a shape that is none"});
      if (digits == 0) ++i;
    }
    if (shape_.empty()) fail({"holds a single number, not rows"});
  }

  MappedFile file_;
  std::string path_, type_;
  std::size_t width_ = 0;
  std::vector<std::size_t> shape_;
  unsigned char const* at_ = nullptr;
};

}  // namespace cleave::io
