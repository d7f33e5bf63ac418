// meta/text.cpp - texts joined of pieces.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/meta/error.hpp>
#include <cleave/meta/text.hpp>
#include <cstdint>
#include <limits>

using cleave::meta::joined;

TEST_CASE("characters of every kind are joined in their order") {
  std::string const path = "file";
  std::string_view const part = std::string_view("abcdef").substr(1, 3);
  CHECK(joined({path, ": ", part, "", std::string(3, '-')}) == "file: bcd---");
  CHECK(joined({}).empty());
}

TEST_CASE("whole numbers of every width are written as std::to_string writes them") {
  CHECK(joined({std::numeric_limits<std::int64_t>::min()}) == "-9223372036854775808");
  CHECK(joined({std::numeric_limits<std::uint64_t>::max()}) == "18446744073709551615");
  CHECK(joined({-1, " ", 0U, " ", static_cast<unsigned char>(65), " ", short{-7}}) == "-1 0 65 -7");
}

TEST_CASE("a number has no more digits than it is given, and no trailing zeros") {
  using cleave::meta::short_number;
  CHECK(short_number(0.1) == "0.1");
  CHECK(short_number(1234567) == "1.23457e+06");
  CHECK(short_number(2.0 / 3, 3) == "0.667");
  CHECK(short_number(-std::numeric_limits<double>::infinity()) == "-inf");
}

TEST_CASE("pieces are appended behind what is there") {
  std::string out = "a";
  cleave::meta::append(out, {", ", 2});
  CHECK(out == "a, 2");
}

TEST_CASE("an error is made of pieces") {
  CHECK_THROWS_WITH_AS(throw cleave::Diverged({"rank ", 3, " of ", 4}), "rank 3 of 4", cleave::Error);
}
