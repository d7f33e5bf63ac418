// io/npy.cpp - arrays of NumPy: every type that is read, both widths of the header, and files that are refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/io/file.hpp>
#include <cleave/io/npy.hpp>

#include "scratch.hpp"

using namespace cleave;
using io::NpyFile;

namespace {

std::string header(std::string const& descr, std::string const& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}
template <class T>
std::vector<unsigned char> file(std::string const& head, std::vector<T> const& data, unsigned char version = 1) {
  std::vector<unsigned char> out{0x93, 'N', 'U', 'M', 'P', 'Y', version, 0};
  for (std::size_t i = 0; i < (version == 1 ? 2u : 4u); ++i)
    out.push_back(static_cast<unsigned char>(head.size() >> (8 * i)));
  out.insert(out.end(), head.begin(), head.end());
  auto const* const p = reinterpret_cast<unsigned char const*>(data.data());
  out.insert(out.end(), p, p + data.size() * sizeof(T));
  return out;
}
template <class T> std::vector<float> read(std::string const& descr, std::vector<T> const& data) {
  scratch::Folder const folder;
  io::write_file(folder / "a.npy", file(header(descr, "(2, 2)"), data));
  NpyFile const npy(folder / "a.npy");
  std::vector<float> out(3);
  npy.read(1, 3, out.data());
  return out;
}
std::string refusal(std::vector<unsigned char> const& bytes) {
  scratch::Folder const folder;
  io::write_file(folder / "a.npy", bytes);
  std::string const text = scratch::message([&] { NpyFile(folder / "a.npy"); });
  CHECK(text.starts_with(folder / "a.npy"));
  return text;
}
std::vector<float> const four{1, 2, 3, 4}, last{2, 3, 4};

}  // namespace

TEST_CASE("elements of every type are numbers") {
  CHECK(read("<f4", four) == last);
  CHECK(read("<f8", std::vector<double>{1, 2, 3, 4}) == last);
  CHECK(read("|u1", std::vector<std::uint8_t>{1, 2, 3, 255}) == std::vector<float>{2, 3, 255});
  CHECK(read("|i1", std::vector<std::int8_t>{1, 2, 3, -4}) == std::vector<float>{2, 3, -4});
  CHECK(read("<i4", std::vector<std::int32_t>{1, 2, 3, -70000}) == std::vector<float>{2, 3, -70000});
  CHECK(read("<i8", std::vector<std::int64_t>{1, 2, 3, -4}) == std::vector<float>{2, 3, -4});
  CHECK(read("|b1", std::vector<std::uint8_t>{0, 1, 0, 1}) == std::vector<float>{1, 0, 1});
}
TEST_CASE("extents are those of the header, of any version") {
  scratch::Folder const folder;
  for (unsigned char const version : std::vector<unsigned char>{1, 2, 3}) {
    io::write_file(folder / "a.npy", file(header("<f4", "(2, 1, 2)"), four, version));
    NpyFile const npy(folder / "a.npy");
    CHECK(npy.shape() == std::vector<std::size_t>{2, 1, 2});
    CHECK(npy.row() == 2);
    CHECK(npy.type() == "f4");
    CHECK(!npy.whole_numbers());
  }
  io::write_file(folder / "a.npy", file(header("|u1", "(4,)"), std::vector<std::uint8_t>(4)));
  CHECK(NpyFile(folder / "a.npy").row() == 1);
  CHECK(NpyFile(folder / "a.npy").whole_numbers());
}
TEST_CASE("a file that is another one is refused") {
  CHECK(scratch::has(refusal({1, 2, 3}), "is no .npy file"));
  CHECK(scratch::has(refusal(file(header("<f4", "(4,)"), four, 9)), "of version 9"));
  CHECK(scratch::has(refusal(file(header(">f4", "(4,)"), four)), "type '>f4'"));
  CHECK(scratch::has(refusal(file(header("<c8", "(2,)"), four)), "type '<c8'"));
  CHECK(scratch::has(refusal(file(header("<U12", "(4,)"), four)), "type '<U12'"));
  CHECK(scratch::has(refusal(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", four)),
                     "records"));
  CHECK(scratch::has(refusal(file(header("<f4", "(2, 2)", true), four)), "numpy.ascontiguousarray"));
  CHECK(scratch::has(refusal(file(header("<f4", "()"), four)), "a single number"));
  CHECK(scratch::has(refusal(file(header("<f4", "(x)"), four)), "a shape that is none"));
  CHECK(scratch::has(refusal(file(header("<f4", "4"), four)), "without a shape"));
  CHECK(scratch::has(refusal(file("{'descr': '<f4'}", four)), "without 'fortran_order':"));
  CHECK(
      scratch::has(refusal(file(header("<f4", "(5,)"), four)), "cut short: 16 bytes of data, its header asks for 20"));
  CHECK(scratch::has(refusal(file(header("<f4", "(3,)"), four)), "bytes left over: 16 bytes of data"));
  CHECK(scratch::has(refusal(file(header("<f4", "(99999999999999999, 99999999999999999)"), four)), "more elements"));
  std::vector<unsigned char> cut = file(header("<f4", "(4,)"), four);
  cut.resize(30);
  CHECK(scratch::has(refusal(cut), "its header ends behind the file"));
}
