// io/csv.cpp - cells of CSV files: quotes, spaces, line ends, and the numbers of lines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/io/csv.hpp>

#include "scratch.hpp"

using namespace cleave;

namespace {

using Cells = std::vector<std::string>;
std::vector<io::CsvLine> read(std::string const& text, char separator = ',') {
  scratch::Folder const folder;
  io::write_file(folder / "a.csv", {reinterpret_cast<unsigned char const*>(text.data()), text.size()});
  return io::read_csv(folder / "a.csv", separator);
}
Cells one(std::string const& text, char separator = ',') {
  auto const lines = read(text, separator);
  REQUIRE(lines.size() == 1);
  return lines[0].cells;
}

}  // namespace

TEST_CASE("cells lie between separators, without the spaces around them") {
  CHECK(one("a,b,c\n") == Cells{"a", "b", "c"});
  CHECK(one(" a , b\tc ,") == Cells{"a", "b\tc", ""});
  CHECK(one(",,") == Cells{"", "", ""});
  CHECK(one("a;b,c", ';') == Cells{"a", "b,c"});
  CHECK(one("\xEF\xBB\xBFname,x") == Cells{"name", "x"});
}
TEST_CASE("quotes hold separators, line ends, spaces and quotes") {
  CHECK(one("\"a,b\", \" c \" ,d") == Cells{"a,b", " c ", "d"});
  CHECK(one("\"say \"\"yes\"\"\",\"\"") == Cells{"say \"yes\"", ""});
  CHECK(one("\"\"") == Cells{""});
  CHECK(one("a \"quote\" inside,b") == Cells{"a \"quote\" inside", "b"});
  auto const lines = read("\"two\nlines\",1\nx,2");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].cells[0] == "two\nlines");
  CHECK(lines[0].number == 1);
  CHECK(lines[1].number == 3);
}
TEST_CASE("lines end as on any system, and empty ones are left out") {
  auto const lines = read("a,1\r\n\r\n  \nb,2\n");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].cells == Cells{"a", "1"});
  CHECK(lines[1].cells == Cells{"b", "2"});
  CHECK(lines[1].number == 4);
  CHECK(read("").empty());
}
TEST_CASE("quotes that do not end, and text behind them, are told with their line") {
  CHECK(scratch::has(scratch::message([] { read("a\n\"b\nc"); }), "a.csv:2: a quote that does not end"));
  CHECK(scratch::has(scratch::message([] { read("a\n\"b\"c,d"); }), "a.csv:2: text behind a cell in quotes"));
}
