// data/arrays.cpp - a program's own arrays as a set: sizes are checked; what is held out is the same share of every class.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/arrays.hpp>

#include <set>

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
TEST_CASE("a share of every class is held out, every sample is in one part, and the seed draws them") {
  std::vector<float> const x = numbers(100);
  std::vector<int> labels(100);
  for (std::size_t i = 0; i < 100; ++i) labels[i] = i < 70 ? 0 : i < 90 ? 1 : 2;
  Arrays const all = session::arrays_of(x, labels, {}, 1, 3);
  auto const [training, held_out] = session::split(all, 0.2, 7);
  CHECK(training.count == 80);
  CHECK(held_out.count == 20);
  std::set<float> seen;
  int of_class[3]{};
  for (int i = 0; i < training.count; ++i) seen.insert(training.input(i)[0]);
  for (int i = 0; i < held_out.count; ++i) {
    seen.insert(held_out.input(i)[0]);
    ++of_class[held_out.label(i)];
    CHECK(held_out.label(i) == labels[static_cast<std::size_t>(held_out.input(i)[0])]);
  }
  CHECK(seen.size() == 100);
  CHECK(of_class[0] == 14);
  CHECK(of_class[1] == 4);
  CHECK(of_class[2] == 2);
  CHECK(session::split(all, 0.2, 7).second.index == held_out.index);
  CHECK(session::split(all, 0.2, 8).second.index != held_out.index);
}
TEST_CASE("targets without classes are held out at random") {
  std::vector<float> const x = numbers(10);
  Arrays const all = session::arrays_of(x, {}, x, 1, 1);
  auto const [training, held_out] = session::split(all, 0.3, 1);
  CHECK(training.count == 7);
  CHECK(held_out.count == 3);
  CHECK(held_out.index != std::vector<int>{7, 8, 9});
}
