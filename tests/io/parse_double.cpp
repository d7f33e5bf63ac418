// io/parse_double.hpp: the same numbers and the same ends by every standard library.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/io/parse_double.hpp>

#include <clocale>
#include <string>
#include <system_error>

namespace {
struct Read {
  double value = -1;
  long length = 0;
  std::errc error{};
};
Read read(std::string const& text) {
  Read r;
  auto const [end, error] = cleave::io::parse_double(text.data(), text.data() + text.size(), r.value);
  r.length = end - text.data();
  r.error = error;
  return r;
}
}  // namespace

TEST_CASE("a number is read to its end, and to the last bit") {
  CHECK(read("0.1").value == 0.1);
  CHECK(read("-2.5e-3,7").value == -2.5e-3);
  CHECK(read("-2.5e-3,7").length == 7);
  CHECK(read("1.7976931348623157e308").value == 1.7976931348623157e308);
  CHECK(read("12 ").length == 2);
  CHECK(read("0x10").length == 1);
  CHECK(read("0x10").value == 0);
}

TEST_CASE("what is no number, or none that a double holds, is told") {
  for (char const* text : {"", "-", " 1", "+1", "x", "e5"}) {
    CAPTURE(text);
    CHECK(read(text).error == std::errc::invalid_argument);
    CHECK(read(text).value == -1);
  }
  CHECK(read("1e999").error == std::errc::result_out_of_range);
  CHECK(read("1e999").length == 5);
  CHECK(read("1e-400").error == std::errc::result_out_of_range);
}

TEST_CASE("the locale changes nothing") {
  std::string const before = std::setlocale(LC_ALL, nullptr);
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) MESSAGE("no locale with a decimal comma here");
  CHECK(read("0.5").value == 0.5);
  std::setlocale(LC_ALL, before.c_str());
}
