// tests/fuzz/arguments.cpp - command lines: one word a line of the input.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cleave/io/arguments.hpp>

#include "fuzz.hpp"

using namespace cleave::io;

std::vector<std::string> fuzz::seeds() {
  return {"--epochs\n3\n--rate=1e-3\n--json\n--backend\ncuda\n--out\nhere",
          "--epoch\n3",
          "--help",
          "--rate\nnan",
          "--epochs=18446744073709551616",
          "--json=1",
          "file"};
}

void fuzz::read(std::string_view input) {
  Options options("fuzz", "reads words");
  int const& epochs = options.number("epochs", 3, 1, 1000000, "passes");
  double const& rate = options.real("rate", 0.1, 0, 10, "step");
  std::string const& backend = options.choice("backend", "host", {"host", "cuda"}, "where");
  options.text("out", "", "folder");
  options.flag("json", "one object");
  std::vector<std::string> const words = split(input, '\n');
  std::vector<char const*> given{"fuzz"};
  for (std::string const& word : words) given.push_back(word.c_str());
  if (!options.parse(static_cast<int>(given.size()), given.data())) return;
  check(epochs >= 1 && epochs <= 1000000, "whole numbers are in their range");
  check(rate >= 0 && rate <= 10, "numbers are in their range");
  check(backend == "host" || backend == "cuda", "a choice is one of its words");
}
