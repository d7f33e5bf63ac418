// tests/fuzz/byte_pairs.cpp - files of a tokenizer: a vocabulary or a tokenizer.json, then merges, then a text to encode.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/data/byte_pairs.hpp>

#include "fuzz.hpp"

using namespace cleave;

namespace {

/// The names of the 256 bytes as tokens 0 to 255, without braces.
std::string every_byte() {
  std::string out;
  for (std::size_t point = 0; point < session::byte_of_point.size(); ++point) {
    int const byte = session::byte_of_point[point];
    if (byte < 0) continue;
    char name[8];
    std::snprintf(name, sizeof name, "\\u%04x", static_cast<unsigned>(point));
    out += (out.empty() ? "\"" : ",\"") + std::string(name) + "\":" + std::to_string(byte);
  }
  return out;
}

}  // namespace

std::vector<std::string> fuzz::seeds() {
  std::string const json =
      R"({"added_tokens":[{"id":300,"content":"<|end|>","lstrip":false}],"pre_tokenizer":{"type":)";
  std::string const model = R"(,"model":{"type":"BPE","ignore_merges":true,"vocab":{"ab":256,"abc":257},"merges":)";
  std::string const split = R"("Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":)" +
                            io::quote(session::llama3_split) +
                            R"(},"behavior":"Isolated"},{"type":"ByteLevel","use_regex":false}])";
  return {std::string("{\"ab\":256,\"abc\":257,\"<|end|>\":258}\n") + '\xFF' + "#version: 0.2\na b\nab c\n" + '\xFF' +
              "abc <|end|> it's 12\n",
          json + R"("ByteLevel"})" + model + R"(["a b","ab c"]}})" + '\xFF' + '\xFF' + "abcab  \r\n  1234",
          json + split + "}" + model + R"([["a","b"],["ab","c"]]}})" + '\xFF' + '\xFF' + "I'M \xE2\x80\xA8 x"};
}

/// The vocabulary is given its bytes, lest the fuzzer has to find them.
void fuzz::read(std::string_view input) {
  static File first, second;
  static std::string const bytes = every_byte();
  std::vector<std::string> const parts = split(input, '\xFF');
  bool const two_files = parts.size() > 1 && !parts[1].empty();
  std::string vocabulary = parts[0];
  std::string const begin = two_files ? "{" : "\"vocab\":{";
  if (std::size_t const at = vocabulary.find(begin); at != std::string::npos)
    vocabulary.insert(at + begin.size(), bytes + (vocabulary[at + begin.size()] == '}' ? "" : ","));
  first.holding(vocabulary);
  if (two_files) second.holding(parts[1]);
  BytePairTokenizer const tokenizer =
      two_files ? BytePairTokenizer(first.path(), second.path()) : BytePairTokenizer(first.path());
  for (std::string const& text : parts) {
    for (SpecialTokens const how : {SpecialTokens::Recognised, SpecialTokens::AsText})
      check(tokenizer.decode(tokenizer.encode(text, how)) == text, "a text comes back");
  }
}
