// schedule/schedule.cpp - the passes give what one walk over the nodes gives, field by field.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "../golden/plans.hpp"
#include "one_walk.hpp"
#include "passes.hpp"

using namespace cleave;

namespace {

void compare_steps(schedule::Schedule const& s, auto const& oracle) {
  REQUIRE(s.steps == oracle.steps);
  CHECK(s.forward_steps == oracle.forward_steps);
  for (int k = 0; k < s.steps; ++k) CHECK(s.step[k] == oracle.step[k]);
}

void compare_nodes(schedule::Schedule const& s, auto const& oracle, int nodes) {
  for (int k = 0; k < nodes; ++k) {
    CAPTURE(k);
    CHECK(s.value[k] == oracle.value[k]);
    CHECK(s.aux[k] == oracle.aux[k]);
    CHECK(s.gradient[k] == oracle.gradient[k]);
    CHECK(s.first_weight[k] == oracle.first_weight[k]);
    CHECK(s.state[k] == oracle.state[k]);
    CHECK(s.bias[k] == oracle.bias[k]);
    CHECK(s.map[k] == oracle.map[k]);
    CHECK(s.head[k] == oracle.head[k]);
    CHECK(s.forward_tail[k] == oracle.forward_tail[k]);
    CHECK(s.backward_tail[k] == oracle.backward_tail[k]);
    CHECK(s.in_forward_tail[k] == oracle.in_forward_tail[k]);
    CHECK(s.in_backward_tail[k] == oracle.in_backward_tail[k]);
    CHECK(s.adds[k] == oracle.adds[k]);
  }
}

void compare_weights(schedule::Schedule const& s, auto const& oracle) {
  REQUIRE(s.weights == oracle.weights);
  REQUIRE(s.buckets == oracle.buckets);
  for (int i = 0; i < s.weights; ++i) {
    CAPTURE(i);
    schedule::Weight const &a = s.weight[i], &b = oracle.weight[i];
    CHECK(a.node == b.node);
    CHECK(a.which == b.which);
    CHECK(a.offset == b.offset);
    CHECK(a.count == b.count);
  }
  for (int i = 0; i < s.buckets; ++i) {
    CAPTURE(i);
    schedule::Bucket const& a = s.bucket[i];
    auto const& b = oracle.bucket[i];
    CHECK(a.offset == b.offset);
    CHECK(a.count == b.count);
    CHECK(a.node == b.node);
    CHECK(a.leaf == b.leaf);
    CHECK(a.over == (b.world ? place::AxisSet{0, 1} : schedule::over_data));
    CHECK(a.row == b.row);
    CHECK(a.reads == b.reads);
    CHECK(a.factors == b.factors);
    CHECK(a.whole == b.whole);
  }
  CHECK(s.weight_elements == oracle.weight_elements);
  CHECK(s.state_elements == oracle.state_elements);
  CHECK(s.most_weight_leaf == oracle.most_weight_leaf);
  CHECK(s.most_sum_leaf == oracle.most_sum_leaf);
  CHECK(s.targets == oracle.targets);
}

void compare_buffers(schedule::Schedule const& s, schedule::Life const* life, auto const& oracle) {
  REQUIRE(s.buffers == oracle.buffers);
  CHECK(s.input_value == oracle.input_value);
  CHECK(s.input_gradient == oracle.input_gradient);
  for (int i = 0; i < s.buffers; ++i) {
    CAPTURE(i);
    schedule::Buffer const& a = s.buffer[i];
    auto const& b = oracle.buffer[i];
    CHECK(a.elements == b.elements);
    CHECK(a.per_slice == b.per_slice);
    CHECK(a.batch_axes.has(1) == b.rows_cut);
    if (a.per_slice) CHECK(a.batch_axes == (b.rows_cut ? place::AxisSet{0, 1} : schedule::over_data));
    CHECK(a.wide == b.wide);
    CHECK(a.category == b.category);
    CHECK(a.takes_over == b.takes_over);
    CHECK(life[i].birth == b.birth);
    CHECK(life[i].death == b.death);
    CHECK(life[i].written == b.written);
  }
}

template <int N>
void compare(schedule::Schedule const& s, schedule::Lives<N> const& lives, one_walk::Schedule<N> const& oracle,
             int nodes) {
  compare_steps(s, oracle);
  compare_nodes(s, oracle, nodes);
  compare_weights(s, oracle);
  compare_buffers(s, lives.of, oracle);
}

template <class Net> int each_request() {
  using ops = layer::ops_of<Net>;
  static constexpr auto model = place::signatures<Net>(ops{});
  constexpr int n = static_cast<int>(std::size(model.op));
  int built = 0;
  std::uint32_t random = 1;
  for (int trial = 0; trial < 200; ++trial) {
    auto const draw = [&](std::uint32_t of) { return (random = random * 1664525 + 1013904223) / 65536 % of; };
    char letters[n];
    for (char& letter : letters) letter = "obic~W\0"[draw(7)];
    place::Request request{{0, static_cast<int>(1 + draw(2))}, 2, 12};
    request.input_gradient = draw(3) == 0;
    request.bucket = draw(2) == 0 ? 500 : 0;
    request.waits_for_norm = draw(4) == 0;
    place::DeviceMesh const mesh = request.mesh;
    auto const shardings = place::propagate_shardings(model, mesh, place::wishes(model, letters, request), request);
    auto const placed = std::make_unique<place::Placed<n>>(place::place(model, shardings, mesh, request));
    if (placed->verdict.law != place::Law::None) continue;
    CAPTURE(trial);
    auto const passes = std::make_unique<Passes<n>>(schedule::PlacedModel<n>{model, *placed, request});
    auto const oracle = std::make_unique<one_walk::Schedule<n>>(one_walk::build(model, *placed, request));
    compare(passes->schedule, passes->lives, *oracle, placed->count);
    ++built;
  }
  return built;
}

// A sum of values that are read several times, by maps, sums and products; products with few columns behind each other.
struct Sums : Sequential<Vector<8>, Residual<Tanh>, Residual<Dropout<20>, Residual<Sigmoid>>, Linear<8>,
                         Residual<layer::Chain<op::Bias>>, Residual<Linear<8, NoBias>, Relu>, Linear<4>, CrossEntropy> {
};
struct Thin : Sequential<Vector<24>, Linear<32>, Gelu, Linear<16>, Dropout<20>, Residual<Linear<16>>,
                         Residual<Residual<Tanh>>, Linear<8>, Relu, Linear<8>, Linear<4>, CrossEntropy> {};

template <class P> constexpr bool shares_a_weight() {
  for (auto const& op : P::signatures.op) {
    if (op.reads_tied()) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("of each plan the passes give what one walk gives") {
  int plans = 0;
  auto const each = [&]<class P>(char const* name, meta::type<P>) {
    CAPTURE(std::string(name));
    if (P::request.updates_in_turn) return;                      // in_turn.cpp
    if (P::signatures.segments || shares_a_weight<P>()) return;  // recompute.cpp, layer/tied.cpp
    if (P::request.cuts_positions.any()) return;  // train/sequence_parallel.cpp, train/split_positions.cpp
    compare(P::schedule, P::lives, one_walk::build(P::signatures, P::placed, P::request), P::placed.count);
    ++plans;
  };
  golden::each_split(each);
  golden::each_sum(each);
  golden::each_agreement(each);
  CHECK(plans >= 60);
}

TEST_CASE("whatever is split, the passes give what one walk gives") {
  int const built = each_request<golden::Mlp>() + each_request<golden::Narrow>() + each_request<golden::Lenet>() +
                    each_request<golden::Norms>() + each_request<golden::Layers>() + each_request<golden::Paths>() +
                    each_request<golden::Deep>() + each_request<golden::Words>() + each_request<Sums>() +
                    each_request<Thin>();
  CHECK(built > 400);
  MESSAGE(built, " schedules");
}
