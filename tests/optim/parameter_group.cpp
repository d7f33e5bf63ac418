// optim/parameter_group.cpp - runs of weights of one group, and the learning rate and weight decay of a group.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cleave/optim/adaptive.hpp>
#include <cleave/optim/sgd.hpp>
#include <tuple>
#include <vector>

using namespace cleave;

namespace {
struct Grouped : Adam {
  static constexpr ParameterGroup group(Parameter p) { return {.rate = p.layer < 2 ? 0.5f : 1.0f}; }
};
static_assert(optim::HasGroups<Grouped> && !optim::HasGroups<Adam>);
static_assert(Parameter{0, "product", 0, Shape(3, 4)}.is_matrix() && !Parameter{0, "bias", 0, Shape(4)}.is_matrix());

constexpr optim::ParameterRun runs[]{{10, {{0.5f, 1}}}, {12, {{1, 0}}}, {20, {}}};
using Visit = std::tuple<long, long, float>;
std::vector<Visit> visits(optim::ParameterRuns const& all, long begin, long many) {
  std::vector<Visit> out;
  all.each(begin, many, [&](long at, long n, ParameterGroup const& g) { out.emplace_back(at, n, g.rate); });
  return out;
}
template <class Optimizer> double stepped(double w, double g, ParameterGroup const& group) {
  double m = 0, v = 0;
  Optimizer::template step<Optimizer, double>(w, g, m, v, optim::now<Optimizer, double>(0.5, 0).in(group));
  return w;
}
struct Decays : Sgd {
  static constexpr float weight_decay = 0.25f;
};
struct DecaysApart : AdamW {
  static constexpr float weight_decay = 0.25f;
};
}  // namespace

TEST_CASE("weights are visited in order, in pieces of one group each") {
  optim::ParameterRuns const all{runs, 3};
  CHECK(visits(all, 0, 20) == std::vector<Visit>{{0, 10, 0.5f}, {10, 2, 1.0f}, {12, 8, 1.0f}});
  CHECK(visits(all, 9, 2) == std::vector<Visit>{{9, 1, 0.5f}, {10, 1, 1.0f}});
  CHECK(visits(all, 13, 3) == std::vector<Visit>{{13, 3, 1.0f}});
  CHECK(visits(all, 5, 0).empty());
}
TEST_CASE("weights of several ways one after the other have the same groups") {
  CHECK(visits({runs, 3}, 18, 13) == std::vector<Visit>{{18, 2, 1.0f}, {20, 10, 0.5f}, {30, 1, 1.0f}});
}
TEST_CASE("without groups all weights are one") { CHECK(visits({}, 7, 100) == std::vector<Visit>{{7, 100, 1.0f}}); }
TEST_CASE("the rate of a group is a factor of the step, its decay one of the weight decay") {
  CHECK(stepped<Decays>(2, 1, {}) == 2 - 0.5 * (1 + 0.25 * 2));
  CHECK(stepped<Decays>(2, 1, {.rate = 0.5f}) == 2 - 0.25 * (1 + 0.25 * 2));
  CHECK(stepped<Decays>(2, 1, {.decay = 0}) == 2 - 0.5);
  CHECK(stepped<Decays>(2, 1, {.rate = 0}) == 2);
  CHECK(stepped<DecaysApart>(2, 0, {.decay = 0.5f}) == 2 - 0.5 * 0.125 * 2);
  CHECK(stepped<DecaysApart>(2, 0, {.rate = 0.5f, .decay = 2}) == 2 - 0.25 * 0.5 * 2);
}
TEST_CASE("matrices are what is multiplied: not biases of heads, nor scales of norms over images") {
  static_assert(Parameter{.operation = "product", .shape = Shape(4, 3)}.is_matrix());
  static_assert(Parameter{.operation = "into_heads", .shape = Shape(8, 3, 2, 4)}.is_matrix());
  static_assert(!Parameter{.operation = "layer_norm", .shape = Shape(2, 3, 3)}.is_matrix());
  static_assert(!Parameter{.operation = "rms_norm", .shape = Shape(2, 3)}.is_matrix());
  static_assert(!Parameter{.operation = "bias", .shape = Shape(3, 2, 4)}.is_matrix());
}
