// tests/io/json.cpp - the JSON reader takes what the RFC says and refuses all else.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/json.hpp>

#include "heap.hpp"
#include "json_tree.hpp"
#include "scratch.hpp"

using namespace cleave::io;
using scratch::Json;
using scratch::parse_json;

TEST_CASE("io/json: every kind of value") {
  Json const json = parse_json(R"( { "n" : null , "t":true,"f":false, "a":[ ] , "o":{}, "x":[1,[2]], "s":"q" } )");
  REQUIRE(json.is(Json::Kind::BeginObject));
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
  CHECK(parse_json(fine).is(Json::Kind::BeginArray));
  CHECK(scratch::has(scratch::message([&] { parse_json(deep); }), "deeper than 64"));
  CHECK_THROWS_AS(parse_json(std::string(1000000, '[')), cleave::Error);
}

TEST_CASE("io/json: a message names the source and the byte") {
  CHECK(scratch::message([] { parse_json("[1,x]", "f.json"); }) == "f.json: not valid JSON: no value at byte 3");
}

namespace {

constexpr std::size_t ten_megabytes = 10'000'000;

/// `begin`, then `item(0)`, `item(1)`, ... until the text has ten megabytes, then `end`.
template <typename Item> std::string large(std::string const& begin, Item item, std::string const& end) {
  std::string text;
  text.reserve(ten_megabytes + 100);
  text = begin;
  for (int i = 0; text.size() < ten_megabytes; ++i) text += item(i);
  return text += end;
}

/// Most bytes that are out while this text is read, the text among them; also where it is refused.
std::size_t peak_of_reading(std::string const& text) {
  return text.capacity() + scratch::peak_of([&] {
           try {
             JsonReader json(text, "text");
             while (json.next() != JsonToken::End) {
             }
           } catch (cleave::Error const&) {
           }
         });
}

}  // namespace

TEST_CASE("io/json: ten megabytes of any shape are read in at most forty") {
  constexpr std::size_t most = 4 * ten_megabytes;
  CHECK(peak_of_reading(large(
            "[0", [](int) { return ",0"; }, "]")) < most);
  CHECK(peak_of_reading(large(
            "[[]", [](int) { return ",[]"; }, "]")) < most);
  CHECK(peak_of_reading(large(
            "[{}", [](int) { return ",{}"; }, "]")) < most);
  auto const name = [](int i) { return "\"" + std::to_string(i) + "\":0"; };
  CHECK(peak_of_reading(large(
            "{\"\":0", [&](int i) { return "," + name(i); }, "}")) < most);
  CHECK(peak_of_reading(large(
            "[{}", [&](int i) { return ",{" + name(i) + "}"; }, "]")) < most);
  CHECK(peak_of_reading(large(
            "\"", [](int) { return "a"; }, "\"")) < most);
  CHECK(peak_of_reading(large(
            "{\"", [](int) { return "a"; }, "\":0}")) < most);
  CHECK(peak_of_reading(large(
            "{\"", [](int) { return "a"; }, "\":0")) < most);
  CHECK(peak_of_reading(large(
            "", [](int) { return "1"; }, "")) < most);
}

TEST_CASE("io/json: the reader tells its tokens one by one, and skips what nobody wants") {
  JsonReader json(R"({"a":[1,{"b":[]}],"c":{"d":2},"e":true,"f":null})", "text");
  CHECK(json.next() == JsonToken::BeginObject);
  for (char const* const name : {"a", "c", "e", "f"}) {
    CHECK(json.next() == JsonToken::Name);
    CHECK(json.string() == name);
    json.next();
    json.skip();
  }
  CHECK(json.next() == JsonToken::EndObject);
  CHECK(json.next() == JsonToken::End);
  CHECK(json.next() == JsonToken::End);
}
