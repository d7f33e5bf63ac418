// tests/fuzz/json.cpp - JSON texts: read token by token, and skipped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/io/json.hpp>

#include "fuzz.hpp"

using namespace cleave::io;

std::vector<std::string> fuzz::seeds() {
  return {R"({"a":[1,-2.5e3,"\u00e9\ud83d\ude00\n",true,false,null],"b":{"c":{}}})",
          "[[[[[[[[]]]]]]]]",
          R"({"a":1,"a":2})",
          "18446744073709551615",
          R"(["\ud800"])",
          std::string(70, '[')};
}

void fuzz::read(std::string_view input) {
  JsonReader json(input, "text");
  int depth = 0;
  for (JsonToken token = json.next(); token != JsonToken::End; token = json.next()) {
    if (token == JsonToken::BeginArray || token == JsonToken::BeginObject) ++depth;
    if (token == JsonToken::EndArray || token == JsonToken::EndObject) --depth;
    check(depth >= 0 && depth <= 64, "arrays and objects end as often as they begin, and nest at most 64 deep");
    if (token == JsonToken::String || token == JsonToken::Name) check(is_utf8(json.string()), "strings are UTF-8");
    if (token == JsonToken::Number) check(json.number() - json.number() == 0, "numbers are finite");
  }
  check(depth == 0, "all that begins ends");
  JsonReader again(input, "text");
  again.next();
  again.skip();
  check(again.next() == JsonToken::End, "what is read can be skipped");
}
