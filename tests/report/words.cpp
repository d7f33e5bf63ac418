// report/words.cpp - an exception as a user reads it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/report/words.hpp>

#include <stdexcept>
#include <string>

TEST_CASE("an exception's own words, and for memory what to do") {
  CHECK(std::string(cleave::session::words_of(std::runtime_error("x: is not y"))) == "x: is not y");
  CHECK(std::string(cleave::session::words_of(std::bad_alloc())).find("no memory left; say a smaller batch") !=
        std::string::npos);
}
