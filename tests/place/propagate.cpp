// place/propagate.cpp - products cut along three axes of a mesh at once: every value that a rank holds is what its sharding
// says of the model on one rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <cleave/layer/activation.hpp>
#include <cleave/layer/input.hpp>
#include <cleave/layer/linear.hpp>
#include <cleave/layer/loss.hpp>
#include <cleave/layer/residual.hpp>
#include <cleave/layer/sequential.hpp>
#include <cleave/place/place.hpp>
#include <cstdint>

#include "ranks.hpp"

using namespace cleave;
using namespace cleave::place;

namespace {

struct Net
    : Sequential<Vector<8>, Linear<8, NoBias>, Relu, Residual<Linear<8, NoBias>>, Linear<8, NoBias>, CrossEntropy> {};
constexpr auto model = signatures<Net>(layer::ops_of<Net>{});
constexpr int ops = static_cast<int>(std::size(model.op));
constexpr Request request{{0, 1}, 1, Ranks::side};

/// `words` has the letters of each product, one for an axis; '.' is none.
constexpr Wishes<ops> asks(char const* const (&words)[3]) {
  Wishes<ops> out;
  int product = 0;
  for (int k = 0; k < ops; ++k) {
    if (!model.op[k].contracts) continue;
    for (int a = 0; words[product][a] != '\0'; ++a) out.of[k][a] = words[product][a] == '.' ? '\0' : words[product][a];
    ++product;
  }
  return out;
}
constexpr DeviceMesh by_data{0, 2, 2}, cube{2, 2, 2};
constexpr auto at(DeviceMesh const& mesh, char const* const (&words)[3]) {
  return propagate_shardings(model, mesh, asks(words), request);
}
constexpr Sharding sharding(Placement a, Placement b, Placement c) { return {{a, b, c}}; }

// Columns over one axis and rows over another, beside replicas: a weight is cut both ways, its output is a summand of
// columns, and the input is cut by what the rows want.
constexpr auto both = at(by_data, {".oi", "...", "..."});
static_assert(both.verdict.law == Law::None && both.op[0].w == sharding(replicate, shard(1), shard(0)));
static_assert(both.op[0].x == sharding(shard(batch), replicate, shard(1)));
static_assert(both.op[0].y == sharding(shard(batch), shard(1), partial));
// Relu wants whole sums, and keeps the columns; the next product wants all whole.
static_assert(both.op[1].x == sharding(shard(batch), shard(1), invariant) && both.op[1].y == both.op[1].x);
static_assert(both.op[2].x == sharding(shard(batch), invariant, invariant));
// Both axes cut the columns: in parts of parts.
constexpr auto nested = at(by_data, {".oo", "...", "..."});
constexpr auto parts = place::place(model, nested, by_data, request);
static_assert(nested.op[0].w == sharding(replicate, shard(1), shard(1)) && parts.node[0].local.w0 == Shape(8, 2));
// An extent of 8 has no parts for 16 ranks, of which each axis alone has 4.
constexpr auto uneven = at(DeviceMesh{4, 4}, {"oo.", "...", "..."});
static_assert(uneven.verdict.law == Law::Parts && uneven.verdict.a == 8 && uneven.verdict.b == 16);
// The outer axis goes from columns to the batch, but the inner one stays: no order of conversions.
constexpr auto inner = at(cube, {"oo.", "bo.", "..."});
static_assert(inner.op[2].x == sharding(shard(batch), replicate, invariant));
constexpr auto stays = at(cube, {"oo.", "bi.", "..."});
static_assert(place::place(model, stays, cube, request).verdict.law == Law::Unconvertible);

Array product(Array const& x, Array const& w, int rows, int in, int of) {
  Array y(static_cast<std::size_t>(rows * of), 0);
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < in; ++i) {
      for (int o = 0; o < of; ++o) {
        y[static_cast<std::size_t>(r * of + o)] +=
            x[static_cast<std::size_t>(r * in + i)] * w[static_cast<std::size_t>(i * of + o)];
      }
    }
  }
  return y;
}
Array apply(Signature const& s, Array x, Array const& x2) {
  for (std::size_t e = 0; e < x.size(); ++e) x[e] = s.in1 > -2 ? x[e] + x2[e] : x[e] > 0 ? x[e] : 0;
  return x;
}
Array numbers(std::uint32_t seed) {
  Array out;
  for (int e = 0; e < Ranks::side * Ranks::side; ++e) {
    out.push_back(static_cast<long>((seed = seed * 1664525 + 1013904223) >> 16) % 19 - 9);
  }
  return out;
}

/// Runs the model up to its loss, on one rank and on the mesh; whether every node's value is right on every rank.
bool agrees(Placed<ops> const& placed, Ranks const& ranks) {
  Array const input = numbers(1);
  std::vector<Array> whole, weight;
  for (int k = 0; k + 1 < ops; ++k) {
    Signature const& s = model.op[k];
    Array const& x = s.in0 < 0 ? input : whole[static_cast<std::size_t>(s.in0)];
    weight.push_back(numbers(static_cast<std::uint32_t>(k) + 2));
    whole.push_back(s.contracts ? product(x, weight.back(), Ranks::side, Ranks::side, Ranks::side)
                                : apply(s, x, s.in1 < 0 ? input : whole[static_cast<std::size_t>(s.in1)]));
  }
  std::vector<std::vector<Array>> have;
  std::vector<Array> of_node;
  std::vector<Array> const given = ranks.all(placed.input, input);
  bool right = true;
  for (int k = 0; k < placed.count; ++k) {
    Node const& n = placed.node[k];
    if (n.op == ops - 1) break;
    std::vector<Array> const& x = n.in0 < 0 ? given : have[static_cast<std::size_t>(n.in0)];
    std::vector<Array> y;
    if (n.op < 0) {
      int axis = 0;
      while (n.x.on[axis] == n.y.on[axis]) ++axis;
      y = ranks.run(n.conversion.forward, axis, n.x, n.y, x);
      of_node.push_back(n.in0 < 0 ? input : of_node[static_cast<std::size_t>(n.in0)]);
    } else {
      Signature const& s = model.op[n.op];
      for (int r = 0; r < ranks.count(); ++r) {
        auto const rank = static_cast<std::size_t>(r);
        if (s.contracts) {
          Array const w = ranks.held(r, n.w, weight[static_cast<std::size_t>(n.op)]);
          int const rows = ranks.part(r, n.x).size[0];
          right = right && n.local.w0.size() == static_cast<long>(w.size()) &&
                  rows * n.local.x.size() == static_cast<long>(x[rank].size());
          if (!right) return false;
          y.push_back(product(x[rank], w, rows, n.local.w0[0], n.local.w0[1]));
        } else {
          y.push_back(apply(s, x[rank], n.in1 < 0 ? given[rank] : have[static_cast<std::size_t>(n.in1)][rank]));
        }
      }
      of_node.push_back(whole[static_cast<std::size_t>(n.op)]);
    }
    right = right && ranks.right(n.y, y, of_node.back());
    have.push_back(std::move(y));
  }
  return right;
}

}  // namespace

TEST_CASE("a model cut in any way along three axes computes what it does on one rank") {
  int placed = 0, without_order = 0, refused = 0, summed = 0;
  std::uint32_t random = 7;
  for (int trial = 0; trial < 4000; ++trial) {
    Wishes<ops> wishes;
    for (int k = 0; k < ops; ++k) {
      for (int a = 0; a < 3 && model.op[k].contracts; ++a) {
        wishes.of[k][a] = "\0boi"[(random = random * 1664525 + 1013904223) / 65536 % 4];
      }
    }
    auto const shardings = propagate_shardings(model, cube, wishes, request);
    if (shardings.verdict.law != Law::None) {
      ++refused;
      continue;
    }
    auto const net = place::place(model, shardings, cube, request);
    if (net.verdict.law == Law::Unconvertible) {
      ++without_order;
      continue;
    }
    CAPTURE(trial);
    REQUIRE(agrees(net, {cube}));
    ++placed;
    for (int k = 0; k < net.count; ++k) summed += net.node[k].conversion.forward == op::Verb::ReduceScatter;
  }
  CHECK(placed > 500);
  CHECK(without_order > 0);
  CHECK(summed > 0);
  MESSAGE(placed, " computed alike, ", without_order, " refused for want of an order, ", refused, " by other laws");
}
