// tests/io/chart.cpp - the chart is well-formed, complete, and draws what it was given.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/chart.hpp>
#include <limits>

#include "scratch.hpp"

using namespace cleave::io;
using scratch::has;

namespace {

int count(std::string const& text, std::string_view part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string drawn(std::vector<Series> const& series, Scale scale = Scale::Linear) {
  return LineChart({"a < b & \"c\"", "steps", "loss"}, series, scale).svg();
}

}  // namespace

TEST_CASE("io/chart: a file with title, labels, legend and one path a series") {
  scratch::Folder const folder;
  write_line_chart(folder / "x.svg", {"a < b & \"c\"", "steps", "loss"},
                   {{"one", {0, 1, 2}, {3, 2, 1}}, {"two", {0, 2}, {1, 1}}});
  auto const bytes = read_file(folder / "x.svg");
  std::string const svg(bytes.begin(), bytes.end());
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(has(svg, ">a &lt; b &amp; &quot;c&quot;</text>"));
  for (char const* const text : {">steps<", ">loss<", ">one<", ">two<"}) CHECK(has(svg, text));
  CHECK(count(svg, "fill=\"none\"") == 2);
  CHECK(count(svg, "<circle") == 5);
  CHECK(count(svg, "<text") == count(svg, "</text>"));
  CHECK(count(svg, "\"") % 2 == 0);
}

TEST_CASE("io/chart: the curve begins low left and ends high right when it rises over the whole range") {
  CHECK(has(drawn({{"one", {0, 1}, {0, 1}}}), "d=\"M76.0 424.0h0L764.0 76.0\""));
}

TEST_CASE("io/chart: gaps interrupt the line and nothing infinite reaches the file") {
  double const infinity = std::numeric_limits<double>::infinity();
  std::string const svg = drawn({{"one", {0, 1, 2, 3, 4}, {1, 2, std::nan(""), infinity, 3}}, {"none", {}, {}}});
  CHECK(count(svg, "M") >= 2);
  CHECK_FALSE(has(svg, "nan"));
  CHECK_FALSE(has(svg, "inf"));
  CHECK_FALSE(has(drawn({{"zero", {1, 2}, {0, -1}}}, Scale::Logarithmic), "nan"));
  CHECK_FALSE(has(drawn({}), "nan"));
}

TEST_CASE("io/chart: zero is never written as minus zero") {
  CHECK_FALSE(has(drawn({{"one", {0, 10}, {0, 2.4}}}), ">-0<"));
}

TEST_CASE("io/chart: a hundred thousand points on one spot take no more room than a few") {
  Series flat{"flat", {}, {}};
  for (int i = 0; i < 100000; ++i) {
    flat.x.push_back(i);
    flat.y.push_back(1);
  }
  CHECK(drawn({flat}).size() < 60000);
}
