// backend/host/gradients/factors.hpp - a product's gradient from the inputs and output gradients of all ranks, by the layer's kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../communication/transfers.hpp"
#include "../execution/actions.hpp"

namespace cleave::backend::host {

/// Sums products of pairs of sources on a stack: the first sum is the gradient (count), others are in `levels`. In the
/// order in which gradients are summed: under Ordered, and in formats that are not low-precision, with the same bits.
template <class N> struct FactorSums {
  using A = tensor::accumulate_t<N>;
  schedule::Program const& program;
  schedule::Bucket const& bucket;
  Kernels<N, Host> const* kernels;
  Host::Context context;
  A *gradient, *levels;

  void sum(Transfers<N> const& transfers, std::span<schedule::Source const> sources) const {
    for (std::size_t k = 0; k < sources.size();) k = fetch(transfers, sources, k);
    int depth = 0;
    for (std::size_t k = 0; k < sources.size(); k += 2) {
      product(transfers.template address<N>(sources[k]), transfers.template address<N>(sources[k + 1]), level(depth));
      if (transfers.rounded())
        tensor::each(bucket.count, [to = level(depth)](long i) { to[i] = rounded_to<N>(to[i]); });
      ++depth;
      for (int m = 0; m < sources[k + 1].merges; ++m, --depth)
        add_range<N>(level(depth - 2), level(depth - 1), bucket.count, transfers.rounded());
    }
  }

 private:
  A* level(int i) const { return i == 0 ? gradient : levels + (i - 1) * bucket.count; }
  /// At once all that is read from a rank, which is one message; returns the first source of the next rank.
  static std::size_t fetch(Transfers<N> const& transfers, std::span<schedule::Source const> sources,
                           std::size_t first) {
    schedule::Source all = sources[first];
    std::size_t past = first;
    long begin = all.at.begin, end = begin;
    for (; past < sources.size() && sources[past].rank == all.rank; ++past) {
      schedule::Strided const at = sources[past].at;
      begin = std::min(begin, at.begin);
      end = std::max(end, at.begin + at.size());
    }
    all.at = {begin, 1, end - begin, 0};
    transfers.fetch(all);
    return past;
  }
  /// The gradient of all weights of the bucket over a micro-batch.
  void product(N const* x, N const* dy, A* to) const {
    for (int w = 0; w < program.weights; ++w) {  // the product's, then the bias's
      schedule::Weight const& weight = program.weight[w];
      if (weight.offset < bucket.offset || weight.offset >= bucket.offset + bucket.count) continue;
      op::Operands<N> t;
      t.x = x;
      t.dy = dy;
      t.dw0 = to + weight.offset - bucket.offset;
      kernels[weight.node].backward_weight(context, t);
    }
  }
};

}  // namespace cleave::backend::host
