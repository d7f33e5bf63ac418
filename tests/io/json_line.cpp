// tests/io/json_line.cpp - what is written is JSON that reads back as it was.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/json_line.hpp>
#include <limits>

#include "json_tree.hpp"

using namespace cleave::io;
using scratch::parse_json;

TEST_CASE("io/json_line: one object on one line") {
  CHECK(JsonLine().text() == "{}");
  CHECK(JsonLine().add("step", 3).add("loss", 0.5).text() == R"({"step":3,"loss":0.5})");
  CHECK(JsonLine().add("ok", true).add("name", "a\"b").add("none", std::string("x")).text() ==
        R"({"ok":true,"name":"a\"b","none":"x"})");
  CHECK(JsonLine().add("in", JsonLine().add("a", 1)).add_raw("list", "[1,2]").text() ==
        R"({"in":{"a":1},"list":[1,2]})");
}

TEST_CASE("io/json_line: numbers JSON lacks become null, the others are exact") {
  double const infinity = std::numeric_limits<double>::infinity();
  CHECK(JsonLine().add("a", infinity).add("b", -infinity).add("c", std::numeric_limits<float>::quiet_NaN()).text() ==
        R"({"a":null,"b":null,"c":null})");
  CHECK(number_text(0.1F) == "0.1");
  CHECK(number_text(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  for (double const value : {0.1, 1e300, -2.5e-308, 1.0 / 3, 5e-324, std::numeric_limits<double>::max()})
    CHECK(parse_json(number_text(value)).number == value);
}

TEST_CASE("io/json_line: every byte string becomes a string that reads back; what is no UTF-8 is marked") {
  std::string all;
  for (char c = 1; c < 127; ++c) all += c;
  all += std::string("\0", 1) + "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80";
  std::string const text = quote(all);
  CHECK(parse_json(text).string == all);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(quote("a\xFFz") == "\"a\xEF\xBF\xBDz\"");
  CHECK(quote("\x01\x1F") == "\"\\u0001\\u001f\"");
}

TEST_CASE("io/json_line: UTF-8 is told from what only looks like it") {
  for (char const* const good : {"", "a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                                 "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    CHECK(is_utf8(good));
  for (char const* const bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2z", "\xE0\x9F\xBF", "\xED\xA0\x80",
                                "\xEF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFE"})
    CHECK_FALSE(is_utf8(bad));
}
