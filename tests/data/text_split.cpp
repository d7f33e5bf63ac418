// data/text_split.cpp - the words of a text are those of the Python package tokenizers; the classes of Unicode.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/data/text_split.hpp>

#include "byte_pairs/cases.hpp"

using namespace cleave::session;

namespace {

std::vector<int> words(std::string_view text, TextSplit split) {
  std::vector<int> out;
  while (!text.empty()) {
    out.push_back(static_cast<int>(first_word(text, split)));
    text.remove_prefix(static_cast<std::size_t>(out.back()));
  }
  return out;
}
using List = std::vector<int>;

}  // namespace

TEST_CASE("words are those of the Python package tokenizers") {
  for (byte_pairs::Case const& c : byte_pairs::cases()) {
    CAPTURE(c.text);
    CHECK(words(c.text, TextSplit::Gpt2) == c.gpt2_words);
    CHECK(words(c.text, TextSplit::Llama3) == c.llama3_words);
  }
}
TEST_CASE("a byte that is no UTF-8 is a character by itself, neither letter nor space") {
  CHECK(words("a\xFFz", TextSplit::Gpt2) == List{1, 1, 1});
  CHECK(words("a\xFFz", TextSplit::Llama3) == List{1, 2});
  CHECK(words(" \xC3", TextSplit::Gpt2) == List{2});
  CHECK(words("\xE4\xBD \xED\xA0\x80", TextSplit::Llama3) == List{2, 4});
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(static_cast<unsigned char>(byte));
  for (TextSplit const split : {TextSplit::Gpt2, TextSplit::Llama3}) {
    int sum = 0;
    for (int const bytes : words(every, split)) sum += bytes;
    CHECK(sum == 256);
  }
}
TEST_CASE("there are as many letters, numbers and spaces as Unicode 16.0 has") {
  long letters = 0, numbers = 0, spaces = 0;
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    UnicodeClass const of = unicode_class(point);
    letters += of == UnicodeClass::Letter;
    numbers += of == UnicodeClass::Number;
    spaces += of == UnicodeClass::Space;
  }
  CHECK(letters == 141028);
  CHECK(numbers == 1911);
  CHECK(spaces == 25);
  static_assert(unicode_class(0x4E00) == UnicodeClass::Letter && unicode_class(0x9FFF) == UnicodeClass::Letter);
  static_assert(unicode_class(0xBD) == UnicodeClass::Number && unicode_class(0x663) == UnicodeClass::Number);
  static_assert(unicode_class(0x301) == UnicodeClass::Other && unicode_class(0x1F600) == UnicodeClass::Other);
  static_assert(unicode_class(0x1C) == UnicodeClass::Other && unicode_class(0x3000) == UnicodeClass::Space);
}
