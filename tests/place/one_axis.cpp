// place/one_axis.cpp - of every plan whose listing is kept, each operation and conversion is placed along the model axis
// as by the placer that knew no other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "../golden/plans.hpp"
#include "one_axis.hpp"

using namespace cleave;

namespace {

/// Of a tensor whose Shape lacks `beyond` dimensions, with dimensions counted without these.
one_axis::Placement old(place::Sharding const& s, int beyond) {
  place::Placement const p = s.on[1];
  return {p.kind, p.kind == place::Kind::Shard ? p.dim - beyond : 0};
}

template <int N> struct Both {
  one_axis::Placed<N> oracle;
  place::Placed<N> placed;
};

template <class Net, class... Ops>
auto place_both(char const (&letters)[sizeof...(Ops)], place::Request const& request, meta::list<Ops...>) {
  static constexpr auto model = place::signatures<Net>(meta::list<Ops...>{});
  static constexpr op::Equation equations[] = {op::Equation(Ops::equation, Ops::weights > 0)...};
  auto out = std::make_unique<Both<sizeof...(Ops)>>();
  out->oracle = one_axis::place(model, equations, letters, request);
  place::DeviceMesh const mesh = request.mesh;
  auto const shardings = place::propagate_shardings(model, mesh, place::wishes(model, letters, request), request);
  out->placed = place::place(model, shardings, mesh, request);
  return out;
}

int nodes = 0, conversions = 0, scattered = 0;

/// Whether a sum over ranks is scattered before what a product with split rows reads is computed from it. The other
/// placer does not look ahead.
template <int N> bool looks_ahead(place::Signatures<N> const& model, place::Placed<N> const& placed) {
  for (int k = 0; k < placed.count; ++k) {
    place::Node const& n = placed.node[k];
    if (n.op < 0 || model.op[n.op].contracts || n.in1 != -2 || n.in0 < 0) continue;
    if (placed.node[n.in0].op < 0 && placed.node[n.in0].conversion.forward == op::Verb::ReduceScatter) return true;
  }
  return false;
}

template <int N>
void compare(place::Signatures<N> const& model, place::Placed<N> const& placed, one_axis::Placed<N> const& oracle) {
  REQUIRE(placed.verdict.law == oracle.verdict.law);
  CHECK(placed.verdict.a == oracle.verdict.a);
  CHECK(placed.verdict.b == oracle.verdict.b);
  CHECK(placed.verdict.leaf == oracle.verdict.leaf);
  if (placed.verdict.law != place::Law::None) return;
  if (looks_ahead(model, placed)) {
    ++scattered;
    return;
  }
  REQUIRE(placed.count == oracle.count);
  CHECK(placed.last == oracle.last);
  CHECK((old(placed.input, 1) == oracle.input));
  CHECK(placed.input.on[place::data_axis] == place::shard(place::batch));
  for (int k = 0; k < placed.count; ++k) {
    CAPTURE(k);
    place::Node const& n = placed.node[k];
    one_axis::Node const& o = oracle.node[k];
    CHECK(n.op == o.op);
    CHECK(n.in0 == o.in0);
    CHECK(n.in1 == o.in1);
    CHECK(n.conversion == o.conversion);
    CHECK(n.batch_axes.has(1) == o.rows_cut);
    CHECK((n.op < 0 && n.x.on[1] == place::shard(place::batch)) == o.from_rows);
    CHECK(n.whole == o.whole);
    op::Local local = n.local;
    local.labels = 1;  // there was no more, and there were no blocks
    local.in_blocks = local.out_blocks = 0;
    CHECK(local == o.local);
    CHECK((old(n.x, 1) == o.x));
    bool const sums = n.op >= 0 && model.op[n.op].sums_batch;
    CHECK((old(n.y, sums ? 0 : 1) == o.y));
    for (int w = 0; n.op >= 0 && w < model.op[n.op].weights; ++w) CHECK((old(n.w, 0) == o.w[w]));
    // Replicas cut the batch of everything but of sums over it, and have copies of all weights.
    CHECK(n.x.on[place::data_axis] == place::shard(place::batch));
    CHECK(n.y.on[place::data_axis] == (sums ? place::invariant : place::shard(place::batch)));
    if (n.op >= 0 && model.op[n.op].weights > 0) CHECK(n.w.on[place::data_axis] == place::replicate);
    ++nodes;
    conversions += n.op < 0;
  }
}

/// Every word for every product, in models that nobody would write too.
template <class Net> int each_request(int& refused) {
  using ops = layer::ops_of<Net>;
  static constexpr auto model = place::signatures<Net>(ops{});
  constexpr int n = static_cast<int>(std::size(model.op));
  int tried = 0;
  std::uint32_t random = 1;
  for (int trial = 0; trial < 600; ++trial) {
    auto const draw = [&](std::uint32_t of) { return (random = random * 1664525 + 1013904223) / 65536 % of; };
    char letters[n];
    for (char& letter : letters) letter = "obic~W\0"[draw(7)];
    place::Request request{{0, static_cast<int>(1 + draw(4))}, 2, 12};
    request.written = draw(4) == 0;
    request.input_gradient = draw(3) == 0;
    request.rounds = draw(8) == 0 ? 3 : 1;
    request.together = draw(8) != 0;
    auto const both = place_both<Net>(letters, request, ops{});
    CAPTURE(trial);
    compare(model, both->placed, both->oracle);
    refused += both->placed.verdict.law != place::Law::None;
    ++tried;
  }
  return tried;
}

}  // namespace

TEST_CASE("each plan is placed along the model axis as before") {
  int plans = 0;
  auto const each = [&]<class P>(char const* name, meta::type<P>) {
    if (P::request.mesh.axes > 2 || P::request.cuts_positions.any() ||
        P::signatures.op[P::ops::size - 1].reads_class_sums)
      return;  // which it did not know
    CAPTURE(std::string(name));
    auto const words =
        plan::letters<typename P::Net, typename P::model_policy>(typename P::ops{}, typename P::leaves{});
    compare(P::signatures, P::placed, place_both<typename P::Net>(words.of, P::request, typename P::ops{})->oracle);
    ++plans;
  };
  golden::each_split(each);
  golden::each_sum(each);
  golden::each_agreement(each);
  CHECK(plans >= 60);
  CHECK(conversions > 50);
}

TEST_CASE("any words are placed, or refused, as before") {
  int refused = 0, tried = 0;
  tried += each_request<golden::Mlp>(refused);
  tried += each_request<golden::Lenet>(refused);
  tried += each_request<golden::Grouped>(refused);
  tried += each_request<golden::Norms>(refused);
  tried += each_request<golden::Layers>(refused);
  tried += each_request<golden::Paths>(refused);
  tried += each_request<golden::Deep>(refused);
  tried += each_request<golden::Words>(refused);
  CHECK(tried - refused > 500);
  CHECK(refused > 500);
  CHECK(scattered <= 33);
  MESSAGE(tried, " requests, ", refused, " refused, ", scattered, " with scattered sums; ", nodes, " nodes, ",
          conversions, " conversions");
}
