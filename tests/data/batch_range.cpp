// data/batch_range.cpp - the steps of several epochs: numbers, ends of epochs, each sample once an epoch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/data/arrays.hpp>
#include <cleave/data/batch_range.hpp>

#include <iterator>
#include <numeric>
#include <set>

using namespace cleave;

namespace {
std::vector<float> const x = [] {
  std::vector<float> v(11);
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}();
std::vector<int> const y(11, 0);
session::BatchRange range(long first_step, int epochs) {
  return {session::source_of(session::arrays_of(x, y, {}, 1, 2)),
          {},
          {.batch = 4, .seed = 7, .check = {}},
          first_step,
          epochs};
}
std::vector<float> read(session::BatchAt const& at) {
  std::vector<float> out(4);
  at.feed.pixels(at.feed.self, at.step, 0, 4, out.data());
  return out;
}
}  // namespace

TEST_CASE("steps are counted on, epochs end after their whole batches, and each has its own order") {
  auto batches = range(6, 3);
  CHECK(batches.steps_per_epoch() == 2);
  CHECK(batches.steps() == 6);
  std::vector<long> steps;
  std::vector<std::vector<float>> orders(3);
  for (auto const& at : batches) {
    steps.push_back(at.step);
    CHECK(at.epoch == static_cast<int>(steps.size() - 1) / 2 + 1);
    CHECK(at.ends_epoch == (steps.size() % 2 == 0));
    for (float v : read(at)) orders[static_cast<std::size_t>(at.epoch - 1)].push_back(v);
  }
  CHECK(steps == std::vector<long>{6, 7, 8, 9, 10, 11});
  for (auto const& o : orders) CHECK(std::set<float>(o.begin(), o.end()).size() == 8);  // of 11, no sample twice
  CHECK(orders[0] != orders[1]);
  CHECK(orders[1] != orders[2]);
}
TEST_CASE("an epoch has the order of its number, wherever a loop begins") {
  std::vector<float> all, later;
  for (auto const& at : range(0, 3))
    for (float v : read(at)) all.push_back(v);
  for (auto const& at : range(4, 1))
    for (float v : read(at)) later.push_back(v);
  CHECK(later == std::vector<float>(all.end() - 8, all.end()));
}
