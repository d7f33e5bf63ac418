// tests/io/json.cpp - the JSON reader takes what the RFC says and refuses all else.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/json.hpp>

#include "scratch.hpp"

using namespace cleave::io;

TEST_CASE("io/json: every kind of value") {
  Json const json = parse_json(R"( { "n" : null , "t":true,"f":false, "a":[ ] , "o":{}, "x":[1,[2]], "s":"q" } )");
  REQUIRE(json.is(Json::Kind::Object));
  CHECK(json.names == std::vector<std::string>{"n", "t", "f", "a", "o", "x", "s"});
  CHECK(json.find("n")->is(Json::Kind::Null));
  CHECK(json.find("t")->boolean);
  CHECK_FALSE(json.find("f")->boolean);
  CHECK(json.find("f")->is(Json::Kind::Bool));
  CHECK(json.find("a")->items.empty());
  CHECK(json.find("x")->items[1].items[0].whole == 2);
  CHECK(json.find("s")->string == "q");
  CHECK(json.find("missing") == nullptr);
}

TEST_CASE("io/json: whole numbers are exact, others are doubles") {
  CHECK(parse_json("18446744073709551615").natural == 18446744073709551615U);
  CHECK_FALSE(parse_json("18446744073709551615").whole);
  CHECK_FALSE(parse_json("18446744073709551616").natural);
  CHECK(parse_json("18446744073709551616").number == 18446744073709551616.0);
  CHECK(parse_json("-9223372036854775808").whole == std::numeric_limits<std::int64_t>::min());
  CHECK_FALSE(parse_json("-9223372036854775809").whole);
  CHECK_FALSE(parse_json("-1").natural);
  CHECK(parse_json("0").natural == 0);
  CHECK(parse_json("-0").whole == 0);
  CHECK_FALSE(parse_json("1.0").whole);
  CHECK_FALSE(parse_json("1e3").whole);
  CHECK(parse_json("-12.5e-1").number == -1.25);
  CHECK(parse_json("2E+2").number == 200);
  CHECK(parse_json("0.5").number == 0.5);
}

TEST_CASE("io/json: escapes") {
  CHECK(parse_json(R"("\"\\\/\b\f\n\r\t")").string == "\"\\/\b\f\n\r\t");
  CHECK(parse_json(R"("\u0041\u00e9\u20AC\ud83d\ude00")").string == "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  CHECK(parse_json(R"("\u0000")").string == std::string("\0", 1));
}

TEST_CASE("io/json: what is not JSON is refused") {
  for (char const* const bad : {"",
                                " ",
                                "nul",
                                "nullx",
                                "True",
                                "01",
                                "-",
                                "-01",
                                "1.",
                                ".5",
                                "1e",
                                "1e+",
                                "+1",
                                "0x1",
                                "NaN",
                                "Infinity",
                                "1e999",
                                "[1,]",
                                "[,1]",
                                "[1 2]",
                                "[",
                                "]",
                                "{",
                                "{\"a\"}",
                                "{\"a\":}",
                                "{\"a\":1,}",
                                "{a:1}",
                                "{\"a\" 1}",
                                "{\"a\":1 \"b\":2}",
                                "'a'",
                                "\"a",
                                "\"\n\"",
                                "\"\\",
                                "\"\\x\"",
                                "\"\\u12\"",
                                "\"\\u12g4\"",
                                "\"\\u-123\"",
                                "\"\\ud800\"",
                                "\"\\udc00\"",
                                "\"\\ud800\\u0041\"",
                                "\"\\ud800\\n\"",
                                "\"\xFF\"",
                                "\"\xED\xA0\x80\"",
                                "1 2",
                                "{} {}",
                                "// c\n1",
                                "\xEF\xBB\xBF{}"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_json(bad), cleave::Error);
  }
  CHECK_THROWS_AS(parse_json(std::string_view("1\0", 2)), cleave::Error);
}

TEST_CASE("io/json: a key given twice is refused by name, however it is spelt and wherever it is") {
  CHECK(scratch::has(scratch::message([] { parse_json(R"({"a":1,"b":2,"a":3})"); }), "\"a\" twice"));
  CHECK_THROWS_AS(parse_json(R"([{"a":{"k":1,"\u006b":2}}])"), cleave::Error);
  CHECK(parse_json(R"({"a":{"a":1},"b":{"a":1}})").items.size() == 2);
}

TEST_CASE("io/json: nesting ends at 64") {
  std::string const fine = std::string(64, '[') + "1" + std::string(64, ']');
  std::string const deep = std::string(65, '[') + "1" + std::string(65, ']');
  CHECK(parse_json(fine).is(Json::Kind::Array));
  CHECK(scratch::has(scratch::message([&] { parse_json(deep); }), "deeper than 64"));
  CHECK_THROWS_AS(parse_json(std::string(1000000, '[')), cleave::Error);
}

TEST_CASE("io/json: a message names the source and the byte") {
  CHECK(scratch::message([] { parse_json("[1,x]", "f.json"); }) == "f.json: not valid JSON: no value at byte 3");
}
