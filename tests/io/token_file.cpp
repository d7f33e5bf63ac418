// io/token_file.cpp - tokens of llm.c's .bin, of .npy, and alone; files that are none are told.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/io/file.hpp>
#include <cleave/io/token_file.hpp>

#include <vector>

#include "scratch.hpp"

using namespace cleave;

namespace {

template <class T> void append(std::vector<unsigned char>& to, std::vector<T> const& numbers) {
  auto const* const at = reinterpret_cast<unsigned char const*>(numbers.data());
  to.insert(to.end(), at, at + numbers.size() * sizeof(T));
}
template <class T>
std::vector<unsigned char> of_llm_c(std::uint32_t magic, std::uint32_t version, std::uint32_t count,
                                    std::vector<T> const& tokens) {
  std::vector<std::uint32_t> header(256);
  header[0] = magic, header[1] = version, header[2] = count;
  std::vector<unsigned char> out;
  append(out, header);
  append(out, tokens);
  return out;
}
std::vector<unsigned char> of_numpy(std::string const& type, std::string const& shape, auto const& numbers) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  std::vector<unsigned char> out{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0};
  out.insert(out.end(), header.begin(), header.end());
  append(out, numbers);
  return out;
}
struct File {
  scratch::Folder folder;
  std::string path = folder / "tokens";

  explicit File(std::vector<unsigned char> const& bytes) { io::write_file(path, bytes); }
  std::vector<int> tokens(TokenFormat format = TokenFormat::ByItsBeginning) const {
    io::TokenFile const file(path, format);
    std::vector<int> out;
    for (long i = 0; i < file.size(); ++i) out.push_back(file[i]);
    return out;
  }
  bool says(std::string const& text, TokenFormat format = TokenFormat::ByItsBeginning) const {
    std::string const said = scratch::message([&] { tokens(format); });
    CAPTURE(said);
    CHECK(scratch::has(said, text));
    return true;
  }
};
using U16 = std::vector<std::uint16_t>;
using U32 = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("llm.c's files: 16 bits for GPT-2, 32 for Llama 3") {
  CHECK(File(of_llm_c(20240520, 1, 3, U16{1, 50256, 65535})).tokens() == std::vector<int>{1, 50256, 65535});
  CHECK(File(of_llm_c(20240801, 7, 2, U32{128255, 7})).tokens() == std::vector<int>{128255, 7});
}
TEST_CASE("one row of whole numbers of NumPy") {
  CHECK(File(of_numpy("<u2", "(3,)", U16{9, 65535, 0})).tokens() == std::vector<int>{9, 65535, 0});
  CHECK(File(of_numpy("<u4", "(2,)", U32{70000, 4000000000U})).tokens() == std::vector<int>{70000, -1});
  CHECK(File(of_numpy("<i8", "(2,)", std::vector<std::int64_t>{-3, 12})).tokens() == std::vector<int>{-1, 12});
}
TEST_CASE("tokens alone, where that is said") {
  std::vector<unsigned char> bytes;
  append(bytes, U16{258, 3, 4, 0});
  File const file(bytes);
  CHECK(file.tokens(TokenFormat::U16) == std::vector<int>{258, 3, 4, 0});
  CHECK(file.tokens(TokenFormat::U32) == std::vector<int>{258 + 3 * 65536, 4});
}
TEST_CASE("a file that is none is told") {
  CHECK(File({1, 2, 3}).says("3 bytes are no whole number of tokens of 2", TokenFormat::U16));
  CHECK(File({1, 2, 3, 4}).says("begins neither as llm.c's .bin nor as a .npy file"));
  CHECK(File({}).says("begins neither as llm.c's .bin nor as a .npy file"));
  CHECK(File(of_llm_c(20240520, 1, 4, U16{1, 2, 3})).says("its header tells of 4 tokens, but 3 follow"));
  CHECK(File(of_llm_c(20240520, 2, 3, U16{1, 2, 3})).says("begins neither"));
  CHECK(File(of_numpy("<u2", "(2, 2)", U16{1, 2, 3, 4})).says("these are 'u2' in 2 dimensions"));
  CHECK(File(of_numpy("<f4", "(1,)", std::vector<float>{1})).says("these are 'f4' in 1 dimensions"));
}
