// plan/same_bits.hpp - whether two plans train to the same bits: of every loss and weight, on any number of ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "plan.hpp"

namespace cleave {
namespace plan {

/// In what two plans differ, so that their bits may; the first of these.
enum class BitsDifference : unsigned char {
  None,
  Legality,      // one of them violates a law, or infers
  Model,         // other layers, or otherwise connected or numbered
  Batch,         // another number of samples in a step
  MicroBatches,  // the leaves of the sums over the batch
  Number,        // another number format
  Optimizer,     // or its hyperparameters, or a loss scale
  Rate,          // another learning rate
  Blocks,        // the sums of its products have another number of blocks
  Sums,          // one has sums in the order of the ranks (Fastest)
  Server,        // one has a parameter server, or replicas that do not wait for each other
  Frozen,        // other layers learn
  Split,         // a product is split by other columns, rows or groups: parts of its sums are added in another order
                 // (not in plans with Blocks, where each rank has whole branches of the tree of blocks)
  Norm,          // clip_norm: each way's sum of squares is rounded, and the ways have other parts of the weights
  Readers,       // several operations read a value's conversion, and others the value: its gradient has another order
  Stages,        // a part of a pipeline converts a value that another converts too: its gradient has another order
  Rounding       // of a narrow format: a value is rounded between two operations that the other computes at once
};

/// The dimensions of a weight that the axes of a replica cut, from the outermost axis on, and into how many parts.
struct WeightCut {
  int dim[place::most_axes]{}, parts[place::most_axes]{}, count = 0;
  constexpr void add(int cut, int into) {
    dim[count] = cut;
    parts[count++] = into;
  }
  friend constexpr bool operator==(WeightCut const&, WeightCut const&) = default;
};
/// How an operation is computed: how its weights are cut, and so its sums if they are no branches of a tree of blocks;
/// and whether a bias and a map are added before these are rounded. What else is computed at once reads rounded values.
struct HowComputed {
  WeightCut weights, sums;
  bool bias = false, map = false;
};
/// What of a plan its bits depend on beyond its words.
template <class P> struct BitsOf {
  static constexpr int ops = static_cast<int>(P::ops::size);
  HowComputed of[ops + 1]{};

  constexpr BitsOf() {
    for (int k = 0; k < P::placed.count; ++k) {
      place::Node const& n = P::placed.node[k];
      if (n.op < 0) continue;
      HowComputed& c = of[n.op];
      auto const& s = P::signatures.op[n.op];
      auto const in_tree = [&](op::Subscripts const& kept) {
        return place::algebra::contraction(s, kept, n.w, n.local.w0, P::request.mesh, P::request.blocks).is_branch;
      };
      for (int a = place::data_axis + 1; a < P::request.mesh.axes; ++a) {
        if (n.w.on[a].kind == place::Kind::Shard && P::request.mesh.size[a] > 1)
          c.weights.add(n.w.on[a].dim, P::request.mesh.size[a]);
        // Of its weights' gradients: ranks have parts of the positions.
        if (s.weights > 0 && P::request.cuts_positions.has(a) && n.w.on[a] == place::replicate)
          c.sums.add(place::batch, P::request.mesh.size[a]);
        // Ranks have summands of its output, or of its input's gradient: of experts.
        bool const reads_part = n.x.on[a].kind == place::Kind::Shard;
        if (s.weights == 0 && P::request.mesh.size[a] > 1 &&
            (reads_part ? n.y.on[a].kind == place::Kind::Partial : n.y.on[a].kind == place::Kind::Shard && !s.is_loss))
          c.sums.add(place::batch, P::request.mesh.size[a]);
      }
      bool const by_branches = P::request.blocks > 1 && s.sums_in_blocks && in_tree(s.y_at) && in_tree(s.x_at);
      for (int i = 0; s.contracts && !by_branches && i < c.weights.count; ++i)
        c.sums.add(c.weights.dim[i], c.weights.parts[i]);
      c.bias = P::schedule.bias[k] >= 0;
      c.map = P::schedule.map[k] >= 0;
    }
  }
};

/// Whether a value is converted, or its gradient reduced, once for each of several parts of a pipeline.
template <class P> constexpr bool converts_in_several_parts() {
  auto const& p = P::placed;
  auto const source = [&](int k) {
    for (k = p.node[k].in0; k >= 0 && p.node[k].is_send();) k = p.node[k].in0;
    return k;
  };
  auto const converts = [&](int k) { return p.node[k].op < 0 && !p.node[k].is_send(); };
  for (int k = 0; k < p.count; ++k) {
    for (int j = 0; j < k && converts(k); ++j) {
      if (converts(j) && p.node[j].part != p.node[k].part && source(j) == source(k)) return true;
    }
  }
  return false;
}

/// Whether several operations read one conversion of a value that others read too: their gradients are added first.
template <class P> constexpr bool adds_some_gradients_first() {
  auto const& p = P::placed;
  auto const readers = [&](int of) {
    int count = 0;
    for (int k = 0; k < p.count; ++k) count += (p.node[k].in0 == of) + (p.node[k].in1 == of);
    return count;
  };
  for (int k = 0; k < p.count; ++k) {
    place::Node const& n = p.node[k];
    if (n.op < 0 && !n.is_send() && n.in0 >= 0 && readers(k) > 1 && readers(n.in0) > 1) return true;
  }
  return false;
}

template <class P, class Q> constexpr BitsDifference bits_differ_by() {
  using enum BitsDifference;
  if constexpr (!legal<P> || !legal<Q>) {
    return Legality;
  } else if constexpr (P::infers || Q::infers) {
    return Legality;
  } else if constexpr (!std::is_same_v<layer::ops_of<typename P::Net>, layer::ops_of<typename Q::Net>> ||
                       !(P::Net::input::shape == Q::Net::input::shape)) {
    return Model;
  } else {
    for (int k = 0; k < BitsOf<P>::ops; ++k) {
      auto const &a = P::signatures.op[k], &b = Q::signatures.op[k];
      if (a.in0 != b.in0 || a.in1 != b.in1 || a.leaf != b.leaf) return Model;
    }
    if (P::batch != Q::batch) return Batch;
    if (P::micro_batches != Q::micro_batches) return MicroBatches;
    if (!std::is_same_v<typename P::number, typename Q::number>) return Number;
    if (!std::is_same_v<typename P::optimizer, typename Q::optimizer>) return Optimizer;
    if (!(P::rate == Q::rate)) return Rate;
    if (P::request.blocks != Q::request.blocks) return Blocks;
    if (!P::ordered || !Q::ordered) return Sums;
    if (P::served || Q::served) return Server;
    if (P::frozen != Q::frozen) return Frozen;
    constexpr BitsOf<P> p;
    constexpr BitsOf<Q> q;
    for (int k = 0; k < BitsOf<P>::ops; ++k) {
      if (!(p.of[k].sums == q.of[k].sums)) return Split;
    }
    bool const other_ways = P::request.mesh.ways() != Q::request.mesh.ways();
    for (int k = 0; P::clips && k < BitsOf<P>::ops; ++k) {
      WeightCut const &a = p.of[k].weights, &b = q.of[k].weights;
      if (!(a == b) || (a.count > 0 && other_ways)) return Norm;
    }
    constexpr bool first = adds_some_gradients_first<P>() || adds_some_gradients_first<Q>();
    if (first && !std::is_same_v<P, Q>) return Readers;
    constexpr bool apart = converts_in_several_parts<P>() || converts_in_several_parts<Q>();
    if (apart && !std::is_same_v<P, Q>) return Stages;
    bool const narrow = P::format.data < P::format.sum;
    for (int k = 0; narrow && k < BitsOf<P>::ops; ++k) {
      if (p.of[k].bias != q.of[k].bias || p.of[k].map != q.of[k].map) return Rounding;
    }
    return None;
  }
}

template <BitsDifference By> struct plans_with_the_same_bits {
  static_assert(By == BitsDifference::None,
                "same_bits: these plans need not train to the same bits; the argument says in what they differ "
                "(plan/same_bits.hpp explains each)");
};

}  // namespace plan

/// `static_assert(same_bits<Train, OnOneRank>);` From one seed both plans give the same bits of every loss and weight,
/// on any ranks of one backend and build, for as many steps: replicas, rounds, stages, buckets and Zero may differ. If
/// not, or not necessarily, the error says why. For a check without an error compare `plan::bits_differ_by<P, Q>()`.
template <class P, class Q>
inline constexpr bool same_bits = sizeof(plan::plans_with_the_same_bits<plan::bits_differ_by<P, Q>()>) > 0;

}  // namespace cleave
