// report/progress.cpp - what is not a terminal gets few lines, the last of them always.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/report/progress.hpp>

using namespace cleave::session;

namespace {
template <class F> std::string told(long steps, F f) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  Progress progress(file, steps, 10);
  f(progress);
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}
}  // namespace

TEST_CASE("a thousand steps at once are the first line and the last") {
  std::string const text = told(1000, [](Progress& p) {
    for (long s = 1; s <= 1000; ++s) p.show(s, 0.5);
  });
  CHECK(text.find("[........................] step 1/1000  loss 0.5000") == 0);
  CHECK(text.find("\n[########################] step 1000/1000  loss 0.5000") != std::string::npos);
  CHECK(text.find(" took ") != std::string::npos);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.back() == '\n');
}

TEST_CASE("what a backend does not know of its waiting is left out, and nothing is no unknown") {
  CHECK(waiting(2.351, 0.0) == ", waited 2.35 s for others, 0.00 s of it for gradients after its backward pass");
  CHECK(waiting(2.351, {}) == ", waited 2.35 s for others");
  CHECK(waiting({}, {}) == "");
}

TEST_CASE("nothing to do is no division by zero") {
  CHECK(told(0, [](Progress& p) { p.show(0, 0); }).find("[########################] step 0/0") == 0);
}
