// data/arrays.cpp - a program's own arrays: sizes are checked, and as a source they have the same samples.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/arrays.hpp>

using namespace cleave;
using session::Arrays;

namespace {
std::vector<float> numbers(std::size_t n) {
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i);
  return x;
}
}  // namespace

TEST_CASE("samples are rows of the arrays") {
  std::vector<float> const x = numbers(12), y = numbers(6);
  Arrays const all = session::arrays_of(x, {}, y, 4, 2);
  CHECK(all.count == 3);
  CHECK(all.input(2)[1] == 9);
  CHECK(all.target(1)[1] == 3);
  std::vector<int> const labels = {5, 6, 7};
  CHECK(session::arrays_of(x, labels, {}, 4, 8).label(2) == 7);
}
TEST_CASE("sizes that do not fit are told with their numbers") {
  std::vector<float> const x = numbers(12), y = numbers(5);
  std::vector<int> const labels = {0, 1};
  auto const of = [&](std::span<float const> in, std::span<int const> l, std::span<float const> t) {
    (void)session::arrays_of(in, l, t, 4, 2);
  };
  CHECK_THROWS_WITH_AS(of(std::span(x).first(11), labels, {}), "x: 11 numbers are no whole number of samples of 4",
                       Error);
  CHECK_THROWS_WITH_AS(of({}, labels, {}), "x: 0 numbers are no whole number of samples of 4", Error);
  CHECK_THROWS_WITH_AS(of(x, labels, {}), "y: 2 labels for 3 samples", Error);
  CHECK_THROWS_WITH_AS(of(x, {}, y), "y: 5 targets for 3 samples of 2", Error);
}
TEST_CASE("as a source, its samples are those of the arrays") {
  std::vector<float> const x = numbers(12), y = numbers(6);
  session::SampleSource const all = session::source_of(session::arrays_of(x, {}, y, 4, 2));
  CHECK(all.size() == 3);
  CHECK(all.outputs == 2);
  CHECK(!all.has_labels());
  CHECK(all.in_memory);
  CHECK(all.channels() == 4);
  std::vector<float> in(4), targets(2);
  all.read(2, nullptr, in.data(), nullptr, targets.data());
  CHECK(in == std::vector<float>{8, 9, 10, 11});
  CHECK(targets == std::vector<float>{4, 5});
  std::vector<int> const labels = {5, 6, 7};
  session::SampleSource const classes = session::source_of(session::arrays_of(x, labels, {}, 4, 8));
  int label = 0;
  classes.read(1, nullptr, in.data(), &label, nullptr);
  CHECK(label == 6);
  CHECK(classes.label_of(classes.data.get(), 2) == 7);
}
