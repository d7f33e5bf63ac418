// tests/io/arguments.cpp - options read as meant, and one clear line for each mistake.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/io/arguments.hpp>
#include <initializer_list>

#include "scratch.hpp"

using namespace cleave::io;
using scratch::has;

namespace {

struct Program {
  Options options{"01_mnist_mlp", "Trains a perceptron on MNIST."};
  int const& epochs = options.number("epochs", 3, 1, 1000000, "passes over the data");
  double const& rate = options.real("rate", 0.1, 0, 10, "learning rate");
  std::string const& data = options.text("data", "data", "folder of the data set");
  std::string const& device = options.choice("device", "cpu", {"cpu", "cuda"}, "where to compute");
  bool const& quiet = options.flag("quiet", "say nothing");

  bool parse(std::initializer_list<char const*> words) {
    std::vector<char const*> all{"program"};
    all.insert(all.end(), words);
    return options.parse(static_cast<int>(all.size()), all.data());
  }
};

std::string mistake(std::initializer_list<char const*> words) {
  return scratch::message([&] { Program().parse(words); });
}

}  // namespace

TEST_CASE("io/arguments: defaults hold until something is given") {
  Program program;
  CHECK(program.parse({}));
  CHECK(program.epochs == 3);
  CHECK(program.rate == 0.1);
  CHECK(program.data == "data");
  CHECK(program.device == "cpu");
  CHECK_FALSE(program.quiet);
}

TEST_CASE("io/arguments: values after a blank or an equals sign") {
  Program program;
  CHECK(program.parse({"--epochs", "12", "--rate=2.5e-3", "--data=--odd=name", "--device", "cuda", "--quiet"}));
  CHECK(program.epochs == 12);
  CHECK(program.rate == 2.5e-3);
  CHECK(program.data == "--odd=name");
  CHECK(program.device == "cuda");
  CHECK(program.quiet);
  CHECK(program.parse({"--epochs=1", "--epochs=1000000", "--data="}));
  CHECK(program.epochs == 1000000);
  CHECK(program.data.empty());
}

TEST_CASE("io/arguments: a bad number is told with what was wanted and what came") {
  CHECK(mistake({"--epochs", "abc"}) == "--epochs wants a whole number from 1 to 1000000, got 'abc'");
  CHECK(mistake({"--rate", "11"}) == "--rate wants a number from 0 to 10, got '11'");
  for (char const* const bad : {"", "0", "1000001", "1.5", "1e3", " 1", "1 ", "0x10", "-1", "99999999999999999999"})
    CHECK(has(mistake({"--epochs", bad}), "whole number"));
  for (char const* const bad : {"", "nan", "inf", "-0.1", "1e999", "0,5"})
    CHECK(has(mistake({"--rate", bad}), "a number from"));
}

TEST_CASE("io/arguments: other mistakes") {
  CHECK(mistake({"--epoch", "3"}) == "there is no option --epoch; did you mean --epochs?");
  CHECK(mistake({"--devcie=cpu"}) == "there is no option --devcie; did you mean --device?");
  CHECK(mistake({"--wholly-other"}) == "there is no option --wholly-other; --help lists those there are");
  CHECK(mistake({"--epochs"}) == "--epochs wants a whole number from 1 to 1000000, got nothing");
  CHECK(has(mistake({"--data", "--quiet"}), "--data wants a value, got nothing"));
  CHECK(mistake({"--device", "tpu"}) == "--device wants one of cpu, cuda, got 'tpu'");
  CHECK(has(mistake({"--quiet=yes"}), "takes no value"));
  CHECK(has(mistake({"epochs"}), "'epochs' is no option"));
  CHECK_FALSE(mistake({"--"}).empty());
  CHECK_FALSE(mistake({"--=3"}).empty());
}

TEST_CASE("io/arguments: help names every option with its default") {
  std::string const usage = Program().options.usage();
  for (char const* const part : {"01_mnist_mlp - Trains a perceptron", "--epochs N", "passes over the data [3]",
                                 "--rate X", "[0.1]", "--data TEXT", "--device cpu|cuda", "--quiet", "--help"}) {
    CAPTURE(part);
    CHECK(has(usage, part));
  }
}

TEST_CASE("io/arguments: the distance between words") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("same", "same") == 0);
}
