// data/byte_pairs.cpp - tokens are those of the Python package tokenizers, texts come back, and bad files are told.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/data/byte_pairs.hpp>
#include <cleave/data/token_windows.hpp>
#include <cleave/io/token_file_writer.hpp>

#include <random>

#include "../io/scratch.hpp"
#include "byte_pairs/cases.hpp"

using namespace cleave;
using byte_pairs::path;
using byte_pairs::text_of;

namespace {

BytePairTokenizer gpt2() { return BytePairTokenizer(path("vocab.json"), path("merges.txt")); }
BytePairTokenizer llama3() { return BytePairTokenizer(path("llama3.json")); }

std::string changed(std::string text, std::string const& from, std::string const& to) {
  std::size_t const at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}
/// The message for these files, without the folder.
std::string refusal(std::string const& vocabulary, std::string const& merges) {
  scratch::Folder const folder;
  std::string const a = folder / "vocab.json", b = folder / "merges.txt";
  io::write_file(a, scratch::bytes(vocabulary));
  io::write_file(b, scratch::bytes(merges));
  std::string said = scratch::message([&] { BytePairTokenizer(a, b); });
  for (std::size_t at = 0; (at = said.find(folder.path() + "/")) != std::string::npos;)
    said.erase(at, folder.path().size() + 1);
  return said;
}
std::string refusal(std::string const& tokenizer) {
  scratch::Folder const folder;
  std::string const file = folder / "tokenizer.json";
  io::write_file(file, scratch::bytes(tokenizer));
  std::string const said = scratch::message([&] { BytePairTokenizer{file}; });
  return said.empty() ? said : said.substr(folder.path().size() + 1);
}
std::string refusal_changed(std::string const& from, std::string const& to) {
  return refusal(changed(text_of("llama3.json"), from, to));
}
using Tokens = std::vector<int>;

}  // namespace

TEST_CASE("tokens are those of the Python package tokenizers, and decode to the text") {
  BytePairTokenizer const of_two_files = gpt2(), of_one_file{path("gpt2.json")}, of_llama3 = llama3();
  for (byte_pairs::Case const& c : byte_pairs::cases()) {
    CAPTURE(c.text);
    CHECK(of_two_files.encode(c.text) == c.gpt2);
    CHECK(of_one_file.encode(c.text) == c.gpt2);
    CHECK(of_llama3.encode(c.text) == c.llama3);
    CHECK(of_two_files.decode(c.gpt2) == c.text);
    CHECK(of_llama3.decode(c.llama3) == c.text);
  }
}
TEST_CASE("the tokens of a long text are those of its lines, whichever words were seen before") {
  BytePairTokenizer const tokenizer = gpt2();
  std::string text;
  Tokens wanted;
  std::vector<byte_pairs::Case> const cases = byte_pairs::cases();
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    byte_pairs::Case const& c = cases[random() % cases.size()];
    text += c.text + "<|endoftext|>";
    wanted.insert(wanted.end(), c.gpt2.begin(), c.gpt2.end());
    wanted.push_back(tokenizer.token("<|endoftext|>"));
  }
  CHECK(tokenizer.encode(text) == wanted);
}
TEST_CASE("bytes that are no UTF-8 come back") {
  std::mt19937 random(2);
  for (BytePairTokenizer const& tokenizer : {gpt2(), llama3()}) {
    for (int trial = 0; trial < 300; ++trial) {
      std::string text;
      for (int i = 0; i < 50; ++i) text += static_cast<char>(static_cast<unsigned char>(random() & 255U));
      CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
    }
  }
}
TEST_CASE("special tokens are one token each, the longest first, or are read as text") {
  BytePairTokenizer const tokenizer = gpt2();
  CHECK(tokenizer.vocabulary() == 500);
  CHECK(tokenizer.token("<|endoftext|>") == 0);
  CHECK(tokenizer.encode("<|end|>x<|end|>") == Tokens{2, 1});
  Tokens const as_text = tokenizer.encode("<|endoftext|>", SpecialTokens::AsText);
  CHECK(as_text.size() > 1);
  CHECK(std::find(as_text.begin(), as_text.end(), 0) == as_text.end());
  CHECK(tokenizer.decode(as_text) == "<|endoftext|>");
  CHECK(tokenizer.encode("").empty());
}
TEST_CASE("a token that is none is told") {
  BytePairTokenizer const tokenizer = gpt2();
  std::string const file = path("vocab.json");
  CHECK(scratch::message([&] { tokenizer.decode(Tokens{3, 500}); }) == file + ": 500 is no token; they are 0 to 499");
  CHECK(scratch::message([&] { tokenizer.decode(Tokens{-1}); }) == file + ": -1 is no token; they are 0 to 499");
  CHECK(scratch::message([&] { tokenizer.token("<|other|>"); }) == file + R"(: no token is "<|other|>")");
}
TEST_CASE("the tokens of a text are a file that TokenWindows reads") {
  scratch::Folder const folder;
  BytePairTokenizer const tokenizer = gpt2();
  Tokens const tokens = tokenizer.encode("The dog is here. The dog said: we'll be there.");
  io::write_tokens(folder / "tokens.bin", tokens);
  TokenWindows<4, 500> const data(folder / "tokens.bin");
  std::vector<float> x(4);
  std::vector<int> y(4);
  data.read(0, x, y);
  CHECK(std::equal(x.begin(), x.end(), tokens.begin()));
  CHECK(std::equal(y.begin(), y.end(), tokens.begin() + 1));
}
TEST_CASE("lines of merges.txt may end as on Windows, and its first may be without the version") {
  std::string const vocabulary = text_of("vocab.json"), merges = text_of("merges.txt");
  std::string other;
  for (char const c : merges.substr(merges.find('\n') + 1)) other += c == '\n' ? "\r\n" : std::string(1, c);
  CHECK(refusal(vocabulary, other + "\r\n").empty());
}
TEST_CASE("merges that are none, or of another vocabulary, are told with their line") {
  std::string const vocabulary = text_of("vocab.json"), merges = text_of("merges.txt");
  std::string const none = " is no merge, which is two tokens with a space between them";
  CHECK(refusal(vocabulary, "#version: 0.2\nh e\nhe\n") == R"(merges.txt: line 3: "he")" + none);
  CHECK(refusal(vocabulary, "h e r\n") == R"(merges.txt: line 1: "h e r")" + none);
  CHECK(refusal(vocabulary, "h e\n\nh e\n") == R"(merges.txt: line 2: "")" + none);
  CHECK(refusal(vocabulary, " e\n") == R"(merges.txt: line 1: " e")" + none);
  CHECK(refusal(vocabulary, merges + "h zz\n") ==
        R"(merges.txt: line 243: "zz" is no token of vocab.json; take all files from one model)");
  std::string const cut = refusal(vocabulary, merges.substr(0, merges.find('\n', 1000) + 1));
  CHECK(scratch::has(cut, " is the last, and no merge makes "));
  CHECK(scratch::has(cut, " of vocab.json; the file is cut short, or of another model"));
  CHECK(scratch::has(refusal(vocabulary, ""), "merges.txt: line 0 is the last, and no merge makes "));
}
TEST_CASE("a vocabulary that is none is told with its token") {
  std::string const vocabulary = text_of("vocab.json"), merges = text_of("merges.txt");
  auto const with = [&](std::string const& from, std::string const& to) {
    return refusal(changed(vocabulary, from, to), merges);
  };
  CHECK(with("\"h\":", "\"h\":-") ==
        R"(vocab.json: the number of token "h" is none from 0 to 16777215; is this the file of a tokenizer?)");
  CHECK(scratch::has(with("\"h\":", "\"h\":1.5e9,\"hhh\":"), R"(token "h" is none from 0)"));
  CHECK(with("\"he\":", "\"\":9999,\"he\":") == "vocab.json: token 9999 is empty; is this the file of a tokenizer?");
  CHECK(with("\"<|end|>\":1", "\"<|end|>\":0") ==
        R"(vocab.json: "<|endoftext|>" and "<|end|>" are both token 0; is this the file of a tokenizer?)");
  CHECK(with("\"@\":", "\"@@ @\":") ==
        "vocab.json: no token is the byte 64, and each of the 256 is one; train with "
        "initial_alphabet=ByteLevel.alphabet()");
  CHECK(refusal("[]", merges) == "vocab.json: the file is no object; is this the file of a tokenizer?");
  CHECK(refusal("version https://git-lfs", merges) == "vocab.json: not valid JSON: no value at byte 0");
  CHECK(refusal("{}x", merges) == "vocab.json: not valid JSON: more text after the end of the value at byte 2");
  CHECK(scratch::has(scratch::message([&] { BytePairTokenizer("/none/vocab.json", path("merges.txt")); }),
                     "/none/vocab.json: cannot open this file for reading"));
}
TEST_CASE("a tokenizer.json of another kind is told with the key") {
  std::string const other =
      ", and byte pairs are read as GPT-2 and Llama 3 have them; encode with the Python package tokenizers";
  CHECK(refusal_changed(R"("type":"BPE")", R"("type":"Unigram")") ==
        R"(tokenizer.json: model.type is "Unigram")" + other);
  CHECK(refusal_changed(R"("normalizer":null)", R"("normalizer":{"type":"NFC"})") ==
        "tokenizer.json: normalizer is used" + other);
  CHECK(refusal_changed(R"("byte_fallback":false)", R"("byte_fallback":true)") ==
        "tokenizer.json: byte_fallback is used" + other);
  CHECK(refusal_changed(R"("add_prefix_space":false)", R"("add_prefix_space":true)") ==
        "tokenizer.json: add_prefix_space is used" + other);
  CHECK(refusal_changed(R"("end_of_word_suffix":null)", R"("end_of_word_suffix":"</w>")") ==
        R"(tokenizer.json: end_of_word_suffix is "</w>")" + other);
  CHECK(refusal_changed(R"("lstrip":false)", R"("lstrip":true)") == "tokenizer.json: lstrip is used" + other);
  CHECK(refusal_changed(R"("behavior":"Isolated")", R"("behavior":"Removed")") ==
        R"(tokenizer.json: behavior is "Removed")" + other);
  CHECK(refusal_changed(R"("ByteLevel")", R"("Digits")") == R"(tokenizer.json: pre_tokenizer is "Digits")" + other);
  CHECK(refusal_changed(R"("use_regex":false)", R"("use_regex":true)") ==
        "tokenizer.json: pre_tokenizer is a split after another one" + other);
  CHECK(scratch::has(refusal_changed("{1,3}", "{1,2}"), R"(tokenizer.json: pattern is "(?i:'s)"));
  CHECK(refusal(R"({"model":{"type":"BPE","vocab":{},"merges":[]},"pre_tokenizer":null})") ==
        "tokenizer.json: pre_tokenizer is without ByteLevel, or without a split" + other);
}
TEST_CASE("a tokenizer.json with a part that is none is told with the key") {
  std::string const ask = "; is this the file of a tokenizer?";
  CHECK(refusal(R"({"version":"1.0"})") == "tokenizer.json: model is missing" + ask);
  CHECK(refusal("null") == "tokenizer.json: the file is no object" + ask);
  CHECK(refusal(R"({"added_tokens":[5]})") == "tokenizer.json: added_tokens is no list of objects" + ask);
  CHECK(refusal(R"({"added_tokens":[{"content":"a"}]})") == "tokenizer.json: an id is missing in added_tokens" + ask);
  CHECK(refusal(R"({"added_tokens":[{"id":"a"}]})") ==
        "tokenizer.json: the number of a token is none from 0 to 16777215" + ask);
  CHECK(refusal(R"({"pre_tokenizer":7})") == "tokenizer.json: pre_tokenizer is no object" + ask);
  CHECK(refusal(R"({"model":{"type":5}})") == "tokenizer.json: model.type is no text" + ask);
  CHECK(refusal(R"({"model":{"ignore_merges":5}})") == "tokenizer.json: model.ignore_merges is no true or false" + ask);
  CHECK(refusal(R"({"model":{"merges":[5]}})") == "tokenizer.json: model.merges is no list of pairs" + ask);
  CHECK(refusal(R"({"model":{"merges":[["a","b","c"]]}})") == "tokenizer.json: model.merges is no list of pairs" + ask);
  CHECK(refusal(R"({"model":{"merges":["a b","ab"]}})") ==
        R"(tokenizer.json: merge 2: "ab" is no merge, which is two tokens with a space between them)");
  CHECK(refusal_changed(R"("content":"<|end|>")", R"("content":"")") ==
        "tokenizer.json: token 1 is empty; is this the file of a tokenizer?");
  CHECK(refusal_changed(R"("content":"<|end|>")", R"("content":"<|no|>")") ==
        R"(tokenizer.json: "<|no|>" and "<|end|>" are both token 1)" + ask);
}
