// schedule/bucket.hpp - a pass: where weights lie, and which layers' gradients are one message.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "placed_model.hpp"

namespace cleave::schedule {

template <int Ops> struct BucketTable {
  static constexpr int most_nodes = PlacedModel<Ops>::most_nodes;
  Weight weight[Ops * 2 + 1];
  int weights = 0;
  Bucket bucket[Ops * 2 + 1];
  int buckets = 0;
  long weight_elements = 0, state_elements = 0;
  long most_weight_leaf = 0, most_sum_leaf = 0;  // the largest sums over the batch that one step takes
  int first_weight[most_nodes]{};                // of each node, index into weight
  long state[most_nodes]{};                      // of each node, offset into the states
};

namespace algebra {

template <int Ops> struct Bucketing {
  PlacedModel<Ops> const& m;
  BucketTable<Ops> out{};

  /// One bucket for the weights of a layer that are summed over the same ranks and sent alike.
  constexpr void weights(int k) {
    place::Signature const& s = m.op(k);
    op::Local const& local = m.node(k).local;
    if (s.reads_tied()) {
      out.first_weight[k] = out.first_weight[m.tied(k)];
      return;
    }
    out.first_weight[k] = out.weights;
    long leaf = 0;
    for (int w = 0; w < s.weights; ++w) {
      long const count = (w == 0 ? local.w0 : local.w1).size();
      place::AxisSet const over = place::axes_of(m.node(k).w, place::replicate);
      Bucket* last = out.buckets > 0 ? &out.bucket[out.buckets - 1] : nullptr;
      int const row = s.sparse_row, reads = row > 0 ? static_cast<int>(local.x.size()) : 0;
      out.weight[out.weights++] = {k, w, out.weight_elements, count, m.node(k).part};
      out.weight_elements += count;
      if (!m.learns(k)) continue;
      if (!last || last->leaf != s.leaf || !(last->over == over) || last->row != row || !go_together(*last, k, count)) {
        out.bucket[out.buckets++] = {out.weight_elements - count, 0, k, s.leaf, over, row, reads};
        last = &out.bucket[out.buckets - 1];
        last->part = m.node(k).part;
      }
      last->count += count;
      leaf += count;
    }
    if (s.contracts && m.learns(k)) offer_factors(out.bucket[out.buckets - 1], k);
    if (leaf > out.most_weight_leaf) out.most_weight_leaf = leaf;
    long const sum = s.sums_batch ? local.y.size() : s.stats_input ? local.x2.size() : 0;
    if (sum > out.most_sum_leaf) out.most_sum_leaf = sum;
    out.state[k] = out.state_elements;
    out.state_elements += s.states * place::algebra::cut(s.state, m.node(k).w, m.request.mesh, 0).size();
  }
  /// Whether the gradient of a weight of node k may be in the message of this bucket. What all ways hold alike must
  /// stay alike, so it is not encoded beside what differs. A bias is summed from a product's factors if it has as many
  /// columns as these.
  constexpr bool go_together(Bucket const& b, int k, long count) const {
    bool const has_columns = b.factors == 0 || count == m.node(b.node).local.y.size();
    return has_columns && are_encoded_together(b.node, k);
  }
  constexpr bool are_encoded_together(int k, int j) const { return !m.request.encodes || is_cut(k) == is_cut(j); }
  constexpr bool is_cut(int k) const {
    bool any = false;
    for (int a = place::data_axis + 1; a < m.request.mesh.axes; ++a)
      any = any || m.node(k).w.on[a].kind == place::Kind::Shard;
    return any;
  }
  /// A bias after the product is free. Cheaper means: over all ranks, (n-1) batch (K + N) against 2 (n-1) K N.
  constexpr void offer_factors(Bucket& b, int k) const {
    op::Local const& local = m.node(k).local;
    long const each = local.x.size() + local.y.size(), batch = long{m.request.rows} * m.request.micro_batches;
    if (m.op(k).factors == place::Factors::Never) return;
    // Else they are not available together, or a server sums.
    bool const may = m.request.rounds == 1 && m.request.together;
    bool const cheaper = may && batch * each < 2 * local.w0.size();
    if (m.op(k).factors == place::Factors::WhereCheaper && !cheaper) return;
    b.factors = static_cast<int>(each);
  }
  /// From the last layer on, in the order in which gradients are computed. Rows and factors are sent separately. With
  /// one micro-batch, unless ranks have parts of its positions, there is no other rank to send to, and weights are
  /// updated as their gradients are computed.
  constexpr void join() {
    bool const sends = m.request.micro_batches > 1 || m.request.cuts_positions.any();
    if (out.buckets == 0 || m.request.bucket == 0 || !sends) return;
    int into = out.buckets - 1;
    for (int b = into - 1; b >= 0; --b) {
      Bucket& last = out.bucket[into];
      Bucket const& next = out.bucket[b];
      bool const alike = last.over == next.over && last.part == next.part &&
                         last.row + next.row + last.factors + next.factors == 0 &&
                         are_encoded_together(last.node, next.node);
      if (alike && last.count < m.request.bucket) {
        last.offset = next.offset;
        last.count += next.count;
        last.node = next.node;
      } else {
        out.bucket[--into] = next;
      }
    }
    for (int b = 0; into + b < out.buckets; ++b) out.bucket[b] = out.bucket[into + b];
    out.buckets -= into;
  }
  /// A stage has its weights one after the other.
  constexpr void place() {
    int const stages = m.request.mesh.stages;
    for (int stage = 0; stage < stages && stages > 1; ++stage) {
      long at = 0;
      for (int i = 0; i < out.weights; ++i) {
        Weight& w = out.weight[i];
        if (w.part % stages != stage) continue;
        w.shift = at - w.offset;
        at += w.count;
        for (int b = 0; b < out.buckets; ++b)
          out.bucket[b].shift = out.bucket[b].offset == w.offset ? w.shift : out.bucket[b].shift;
      }
    }
  }
};

}  // namespace algebra

template <int Ops> constexpr BucketTable<Ops> bucket(PlacedModel<Ops> const& m) {
  algebra::Bucketing<Ops> pass{m};
  for (int k = 0; k < m.count; ++k) {
    if (m.is_op(k)) pass.weights(k);
  }
  pass.join();
  pass.place();
  return pass.out;
}

}  // namespace cleave::schedule
