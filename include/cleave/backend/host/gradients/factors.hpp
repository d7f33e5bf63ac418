// backend/host/gradients/factors.hpp - a product's gradient from all ranks' inputs and output gradients: every rank computes it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "exchange.hpp"

namespace cleave::backend::host {

/// Micro-batch by micro-batch with the layer's kernels, and in the order in which Direct sums: under Ordered, and in
/// formats that are not low-precision, with the same bits.
template <class N> class Factors : public WholeExchange<Factors<N>, N> {
  using Base = WholeExchange<Factors<N>, N>;
  using Base::bucket, Base::layout_, Base::m_, Base::of_, Base::rounded;

 public:
  using T = N;
  using A = tensor::accumulate_t<T>;

  explicit Factors(ExchangeContext<T> const& of) : Base(of), share_(*of.share) {}
  /// | x (local samples, K) | dy (local samples, N) |
  void start(int b) override {
    schedule::ProgramNode const& n = node(b);
    int const x = n.in0 < 0 ? of_.program->input_value : of_.program->value[n.in0];
    long const own = samples(b, m_->index(axis_of(bucket(b))));
    T* const to = message(m_->rank, b);
    std::copy_n(m_->template at<T const>(m_->rank, layout_->buffer[x]), own * n.local.x.size(), to);
    std::copy_n(m_->template at<T const>(m_->rank, layout_->buffer[of_.program->gradient[bucket(b).node]]),
                own * n.local.y.size(), to + own * n.local.x.size());
  }
  void run(int b, int) override {
    Axis const ax = axis_of(bucket(b));
    schedule::TreeSum sum{share_.micro_batches};
    for (int i = 0; i < m_->size(ax); ++i) {
      int const peer = m_->peer(ax, i), slices = share_.of(bucket(b).over, i, 0).size();
      long const elements = samples(b, i) * bucket(b).factors;
      m_->read_from(peer, elements, sizeof(T));
      m_->template fetch<T>(peer, layout_->encoded[b], 0, elements);
      for (int s = 0; s < slices; ++s) {
        int const level = of_.ordered() ? sum.depth : (i > 0) + (s > 0);
        leaf(b, peer, samples(b, i), s, level);
        if (of_.ordered()) {
          sum.push({share_.of(bucket(b).over, i, 0).begin + s, 1}, [&](int to, int from) { add(b, to, from); });
        } else if (s > 0) {
          add(b, level - 1, level);
        }
      }
      if (!of_.ordered() && i > 0) add(b, 0, 1);
    }
  }
  A const* whole(int b) const { return level_of(b, 0); }

 private:
  schedule::ProgramNode const& node(int b) const { return of_.program->node[bucket(b).node]; }
  long samples(int b, int index) const { return long{share_.of(bucket(b).over, index, 0).size()} * of_.program->rows; }
  T* message(int rank, int b) const { return m_->template at<T>(rank, layout_->encoded[b]); }
  A* level_of(int b, int level) const {
    if (level == 0) return m_->template at<A>(m_->rank, layout_->gradients) + bucket(b).offset;
    return m_->template at<A>(m_->rank, layout_->factor_levels) + (level - 1) * bucket(b).count;
  }
  void add(int b, int to, int from) { add_range<T>(level_of(b, to), level_of(b, from), bucket(b).count, rounded()); }
  /// The gradient of all weights of the bucket over micro-batch `slice` of a peer, which has `samples_there` samples.
  void leaf(int b, int peer, long samples_there, int slice, int level) {
    schedule::ProgramNode const& n = node(b);
    long const first = long{slice} * of_.program->rows;
    T const* const x = message(peer, b) + first * n.local.x.size();
    T const* const dy = message(peer, b) + samples_there * n.local.x.size() + first * n.local.y.size();
    for (int w = 0; w < of_.program->weights; ++w) {  // the product's, then the bias's
      schedule::Weight const& weight = of_.program->weight[w];
      if (weight.offset < bucket(b).offset || weight.offset >= bucket(b).offset + bucket(b).count) continue;
      op::Operands<T> t;
      t.x = x;
      t.dy = dy;
      t.dw0 = level_of(b, level) + weight.offset - bucket(b).offset;
      of_.kernels[weight.node].backward_weight({m_->template at<std::byte>(m_->rank, layout_->workspace)}, t);
    }
    if (!rounded()) return;
    A* const v = level_of(b, level);
    for (long i = 0; i < bucket(b).count; ++i) v[i] = rounded_to<T>(v[i]);
  }

  schedule::Share share_;
};

}  // namespace cleave::backend::host
