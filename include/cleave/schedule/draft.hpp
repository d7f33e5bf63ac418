// schedule/draft.hpp - the nodes of a placed model before scheduling: their readers, what is merged, weights in buckets.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../place/place.hpp"
#include "schedule.hpp"

namespace cleave::schedule {

template <int Ops> struct Draft {
  place::Signatures<Ops> const& model;
  place::Placed<Ops> const& placed;
  place::Request request;
  Schedule<Ops> out{};
  int readers[Schedule<Ops>::most_nodes + 1]{};  // of node k - 1; [0] is the input
  int heard[Schedule<Ops>::most_nodes +
            1]{};  // of these, the ones whose part of its gradient is computed, or about to be
  constexpr place::Node const& node(int k) const { return placed.node[k]; }
  constexpr place::Signature const& op(int k) const { return model.op[placed.node[k].op]; }
  constexpr bool is_op(int k) const { return placed.node[k].op >= 0; }
  constexpr bool rows_cut(int k) const {
    return k < 0 ? placed.input.on[place::model_axis] == place::shard(place::batch) : node(k).rows_cut;
  }
  constexpr bool needs(int k) const { return k == -1 ? request.input_gradient : k >= 0 && out.needs_gradient[k]; }

  constexpr void prepare() {
    for (int k = 0; k < placed.count; ++k) {
      out.value[k] = out.aux[k] = out.gradient[k] = out.bias[k] = out.map[k] = -1;
      out.head[k] = k;
      readers[node(k).in0 + 1]++;
      if (node(k).in1 > -2) readers[node(k).in1 + 1]++;
      bool const learned = is_op(k) && op(k).weights > 0;
      out.needs_gradient[k] = learned || needs(node(k).in0) || needs(node(k).in1);
    }
    for (int k = 0; k < placed.count; ++k) {  // a bias, then a map, directly behind a product
      if (!is_op(k) || !op(k).contracts) continue;
      int last = k;
      if (merges(last, true)) out.head[++last] = k, out.bias[k] = last;
      if (merges(last, false)) out.head[++last] = k, out.map[k] = last;
    }
    for (int k = 0; k < placed.count; ++k) {
      if (!is_op(k)) continue;
      out.first_weight[k] = out.weights;
      long leaf = 0;
      long const sum = op(k).sums_batch ? node(k).local.y.size() : op(k).stats_input ? node(k).local.x2.size() : 0;
      for (int w = 0; w < op(k).weights; ++w) {
        long const count = (w == 0 ? node(k).local.w0 : node(k).local.w1).size();
        bool const world = node(k).w.on[place::model_axis].kind == place::Kind::Replicate;
        Bucket* last = out.buckets > 0 ? &out.bucket[out.buckets - 1] : nullptr;
        int const row = op(k).sparse_row, reads = row > 0 ? static_cast<int>(node(k).local.x.size()) : 0;
        if (!last || last->leaf != op(k).leaf || last->world != world || last->row != row) {
          out.bucket[out.buckets++] = {out.weight_elements, 0, k, op(k).leaf, world, row, reads};
          last = &out.bucket[out.buckets - 1];
        }
        last->count += count;
        out.weight[out.weights++] = {k, w, out.weight_elements, count};
        out.weight_elements += count;
        leaf += count;
      }
      if (op(k).contracts && op(k).weights > 0) offer_factors(out.bucket[out.buckets - 1], k);
      if (leaf > out.most_weight_leaf) out.most_weight_leaf = leaf;
      if (sum > out.most_sum_leaf) out.most_sum_leaf = sum;
      out.state[k] = out.state_elements;
      out.state_elements +=
          op(k).states * place::algebra::cut(op(k).state, node(k).w, place::mesh_of(request), 0).size();
    }
  }
  /// From the last layer on, in the order in which gradients are computed. Rows and factors are sent separately. With
  /// one micro-batch there is no other rank to send to, and weights are updated as their gradients are computed.
  constexpr void join_buckets() {
    if (request.bucket == 0 || request.micro_batches == 1) return;
    int into = out.buckets - 1;
    for (int b = into - 1; b >= 0; --b) {
      Bucket& last = out.bucket[into];
      Bucket const& next = out.bucket[b];
      bool const alike = last.world == next.world && last.row + next.row + last.factors + next.factors == 0;
      if (alike && last.count < request.bucket) {
        last.offset = next.offset;
        last.count += next.count;
        last.node = next.node;
      } else {
        out.bucket[--into] = next;
      }
    }
    for (int b = 0; into + b < out.buckets; ++b) out.bucket[b] = out.bucket[into + b];
    out.buckets -= into > 0 ? into : 0;
  }
  /// A bias after the product is free. Cheaper means: over all ranks, (n-1) batch (K + N) against 2 (n-1) K N.
  constexpr void offer_factors(Bucket& b, int k) const {
    long const each = node(k).local.x.size() + node(k).local.y.size(),
               batch = long{request.rows} * request.micro_batches, weights = node(k).local.w0.size();
    if (op(k).factors == place::Factors::Never) return;
    bool const may = request.rounds == 1 && request.together;  // else they are not available together, or a server sums
    if (op(k).factors == place::Factors::WhereCheaper && !(may && batch * each < 2 * weights)) return;
    b.factors = static_cast<int>(each);
  }
  constexpr bool merges(int k, bool bias) const {
    int const next = k + 1;
    return next < placed.count && is_op(next) && node(next).in0 == k && node(next).in1 == -2 && op(next).mergeable &&
           readers[k + 1] == 1 && (op(next).weights == 1) == bias;
  }
};

}  // namespace cleave::schedule
