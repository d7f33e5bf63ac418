// data/csv.cpp - CSV files as data sets: which columns are what, classes by name, and lines that are refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/csv.hpp>
#include <cleave/data/subset.hpp>
#include <cleave/layer/input.hpp>

#include "../io/scratch.hpp"

using namespace cleave;

namespace {

struct File {
  scratch::Folder folder;
  std::string path = folder / "a.csv";
  explicit File(std::string const& text) {
    io::write_file(path, {reinterpret_cast<unsigned char const*>(text.data()), text.size()});
  }
};
template <class Data> std::string refusal(std::string const& text, CsvOptions const& how = {}) {
  File const file(text);
  return scratch::message([&] { Data(file.path, how); });
}
using Flowers = Csv<Vector<2>, Class<3>>;
using Numbers = Csv<Vector<2>, Values<2>>;
static_assert(ClassDataset<Flowers> && Dataset<Numbers> && !ClassDataset<Numbers>);
std::string const flowers = "length,width,kind\n5.1,3.5,rose\n4.9,-3e1,aster\n+6,0,rose\n1,2,tulip\n";

}  // namespace

TEST_CASE("classes are numbered in sorted order; all other columns are inputs") {
  File const file(flowers);
  Flowers const data(file.path, {.target = "kind"});
  CHECK(data.size() == 4);
  CHECK(data.class_names() == std::vector<std::string>{"aster", "rose", "tulip"});
  CHECK(data.input_names() == std::vector<std::string>{"length", "width"});
  std::vector<float> x(2);
  int y = -1;
  data.read(1, x, y);
  CHECK(x == std::vector<float>{4.9f, -30});
  CHECK(y == 0);
  data.read(2, x, y);
  CHECK(x[0] == 6);
  CHECK(y == 1);
  CHECK(data.label(3) == 2);
  auto const [training, test] = split(data, 0.5);
  CHECK(training.class_names()[2] == "tulip");
}
TEST_CASE("whole numbers are sorted as numbers, and classes may be named in an order of one's own") {
  File const file("x,y,digit\n1,2,10\n3,4,9\n5,6,-\n");
  CHECK(Flowers(file.path, {.classes = {"-", "9", "10"}}).label(0) == 2);
  File const digits("x,y,digit\n1,2,10\n3,4,9\n5,6,2\n");
  CHECK(Flowers(digits.path).class_names() == std::vector<std::string>{"2", "9", "10"});
}
TEST_CASE("values are the last columns, or those that are named; columns without a header have numbers") {
  File const file("1,2,3,4\n5,6,7,8\n");
  std::vector<float> x(2), y(2);
  Numbers(file.path, {.header = false}).read(1, x, y);
  CHECK(x == std::vector<float>{5, 6});
  CHECK(y == std::vector<float>{7, 8});
  Numbers(file.path, {.targets = {"3", "0"}, .header = false}).read(0, x, y);
  CHECK(x == std::vector<float>{2, 3});
  CHECK(y == std::vector<float>{4, 1});
  File const more("id;a;b;c;d\nfirst;1;2;3;4\n");
  Numbers(more.path, {.ignore = {"id"}, .separator = ';'}).read(0, x, y);
  CHECK(x == std::vector<float>{1, 2});
  CHECK(y == std::vector<float>{3, 4});
}
TEST_CASE("an empty cell of an input becomes a number, or the mean of its column") {
  File const file("a,b,kind\n1,,rose\n,4,aster\n3,?,tulip\n5,6,rose\n");
  auto const inputs = [](Flowers const& data) {
    std::vector<float> all(8);
    int y = 0;
    for (long i = 0; i < 4; ++i) data.read(i, std::span(all).subspan(static_cast<std::size_t>(2 * i), 2), y);
    return all;
  };
  CHECK(inputs(Flowers(file.path, {.missing = {"?"}, .fill = 0})) == std::vector<float>{1, 0, 0, 4, 3, 0, 5, 6});
  Flowers const by_mean(file.path, {.missing = {"?"}, .fill = CsvFill::mean()});
  CHECK(inputs(by_mean) == std::vector<float>{1, 5, 3, 4, 3, 5, 5, 6});
  CHECK(by_mean.fill().numbers() == std::vector<float>{3, 5});
  CHECK(by_mean.label(2) == 2);

  File const test("a,b,kind\n,,rose\n1,2,rose\n");  // filled with the means of another file
  Flowers const more(test.path, {.classes = by_mean.class_names(), .fill = by_mean.fill()});
  std::vector<float> x(2);
  int y = 0;
  more.read(0, x, y);
  CHECK(x == std::vector<float>{3, 5});
  CHECK(y == 1);

  using scratch::has;
  CHECK(has(refusal<Flowers>("a,b,kind\n1,?,rose\n", {.fill = 0}), "a.csv:2: column \"b\": \"?\" is no number"));
  CHECK(has(refusal<Flowers>("a,b,kind\n1,?,rose\n", {.missing = {"?"}}), "a.csv:2: column \"b\" is empty"));
  CHECK(has(refusal<Flowers>("a,b,kind\n1,,rose\n2,,rose\n", {.classes = {"rose", "x", "y"}, .fill = CsvFill::mean()}),
            "a.csv: column \"b\" has only empty cells"));
  CHECK(has(refusal<Flowers>(flowers, {.fill = CsvFill({1, 2, 3})}),
            ".fill has 3 numbers, but there are 2 columns of inputs"));
}
TEST_CASE("a column of texts has an input for each of them") {
  using Passengers = Csv<Vector<5>, Class<2>>;
  std::string const lines = "sex,age,port,survived\nmale,22,S,no\nfemale,38,C,yes\nfemale,,S,yes\nmale,35,,no\n";
  File const file(lines);
  auto const inputs = [](Passengers const& data, long i) {
    std::vector<float> x(5);
    int y = 0;
    data.read(i, x, y);
    return x;
  };
  Passengers const data(file.path, {.fill = CsvFill::mean(), .categories = {"port", "sex"}});
  CHECK(data.input_names() == std::vector<std::string>{"sex=female", "sex=male", "age", "port=C", "port=S"});
  CHECK(inputs(data, 0) == std::vector<float>{0, 1, 22, 0, 1});
  CHECK(inputs(data, 1) == std::vector<float>{1, 0, 38, 1, 0});
  CHECK(inputs(data, 2)[2] == doctest::Approx(95 / 3.0f));
  CHECK(inputs(data, 3)[3] ==
        doctest::Approx(1 / 3.0f));  // of an empty cell the share of each text, or what .fill says
  Passengers const zeros(file.path, {.fill = 0, .categories = {"port", {"sex", {"male", "female"}}}});
  CHECK(inputs(zeros, 3) == std::vector<float>{1, 0, 35, 0, 0});

  File const test("sex,age,port,survived\nfemale,,C,no\nfemale,30,C,yes\n");  // has no line with the text male
  Passengers const more(test.path, {.fill = data.fill(), .categories = data.categories()});
  CHECK(inputs(more, 0)[0] == 1);
  CHECK(inputs(more, 0)[1] == 0);
  CHECK(inputs(more, 0)[2] == doctest::Approx(95 / 3.0f));

  using scratch::has;
  CHECK(has(refusal<Passengers>(lines, {.categories = {"port", "sex"}}), "a.csv:5: column \"port\" is empty"));
  CHECK(has(refusal<Passengers>(lines, {.fill = 0, .categories = {{"port", {"C"}}, "sex"}}),
            "a.csv:2: column \"port\": \"S\" is none of its .categories"));
  CHECK(has(refusal<Passengers>(lines, {.fill = 0, .categories = {"port", "port"}}), "\"port\" is named twice"));
  CHECK(
      has(refusal<Passengers>(lines, {.fill = 0, .categories = {"survived", "port"}}), "\"survived\" is named twice"));
  CHECK(has(
      refusal<Csv<Vector<3>, Class<2>>>(lines, {.fill = 0}),
      "\"male\" is no number that a float can hold; .ignore leaves a column out, .categories has columns of texts"));
  CHECK(has(refusal<Passengers>(lines, {.fill = 0, .categories = {"sex"}}),
            "4 inputs, with those of texts, but the data set's type has 5"));
}
TEST_CASE("an empty target is refused, unless it is one of .classes") {
  using scratch::has;
  CHECK(has(refusal<Flowers>("a,b,kind\n1,2,rose\n3,4,\n5,6,aster\n", {.fill = 0}),
            "a.csv:3: column \"kind\" is empty; leave the line out"));
  CHECK(has(refusal<Flowers>("a,b,kind\n1,2,rose\n3,4,NA\n5,6,aster\n", {.missing = {"NA"}}),
            "a.csv:3: column \"kind\" is empty"));
  CHECK(has(refusal<Numbers>("a,b,c,d\n1,2,3,\n", {.fill = 0}), "a.csv:2: column \"d\" is empty"));
  File const file("a,b,kind\n1,2,rose\n3,4,\n5,6,aster\n");
  CHECK(Flowers(file.path, {.classes = {"", "aster", "rose"}}).label(1) == 0);
}
TEST_CASE("what does not fit is told with file, line and column") {
  using scratch::has;
  CHECK(has(refusal<Flowers>("a,b,kind\n1,,rose\n"), "a.csv:2: column \"b\" is empty"));
  CHECK(has(refusal<Flowers>("a,b,kind\n1,2,x\n1,2cm,rose\n"), "a.csv:3: column \"b\": \"2cm\" is no number"));
  CHECK(has(refusal<Flowers>("a,b,kind\n1,1e99,rose\n"), "\"1e99\" is no number that a float can hold"));
  CHECK(has(refusal<Flowers>("a,b,kind\n1,nan,rose\n"), "\"nan\" is no number"));
  CHECK(has(refusal<Flowers>("a,b,kind\n1,2\n"), "a.csv:2: 2 cells, but there are 3 columns"));
  CHECK(has(refusal<Flowers>("a,b,kind\n"), "a.csv: no samples"));
  CHECK(has(refusal<Flowers>(flowers, {.target = "sort"}), "no column \"sort\"; there are length, width, kind"));
  CHECK(has(refusal<Flowers>("a,kind\n1,rose\n"), "1 columns of inputs, but the data set's type has 2"));
  CHECK(has(refusal<Flowers>("a,b,c,kind\n1,2,3,rose\n"), ".ignore names columns"));
  CHECK(has(refusal<Flowers>("a,b,kind\n1,2,x\n3,4,y\n"), "has 2 classes (x, y), but the data set's type has 3"));
  CHECK(has(refusal<Flowers>(flowers, {.classes = {"rose", "tulip", "lily"}}),
            "a.csv:3: column \"kind\": \"aster\" is none"));
  CHECK(has(refusal<Flowers>(flowers, {.target = "kind", .ignore = {"kind"}}), "column \"kind\" is named twice"));
  CHECK(has(refusal<Numbers>("a,b,c,d\n1,2,3,4\n", {.target = "a"}),
            "1 columns of targets, but the data set's type has 2"));
}
