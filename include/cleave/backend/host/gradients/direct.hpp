// backend/host/gradients/direct.hpp - one-shot all-reduce of a bucket: each rank sums its part from all, then reads the other parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "exchange.hpp"

namespace cleave::backend::host {

/// One-shot: each rank sums its part from all, then reads the other parts.
template <class N> class Direct : public WholeExchange<Direct<N>, N> {
 private:
  using Base = WholeExchange<Direct<N>, N>;
  using Base::layout_, Base::m_, Base::of_, Base::sums;

 public:
  using T = N;
  using A = tensor::accumulate_t<T>;
  using Wire = typename Exchange<N>::Wire;

  explicit Direct(ExchangeContext<T> const& of)
      : Base(of), reduction_{this->reduction_over(Axis::Data), this->reduction_over(Axis::World)} {}
  bool reads_peers() const override { return true; }
  void start(int b) override {
    schedule::Bucket const& bucket = this->bucket(b);
    if constexpr (Base::narrow) {
      for (int branch = 0; branch < layout_->branches; ++branch) {
        A const* from = sums(branch, bucket.offset);
        T* to = m_->template at<T>(m_->rank, wire(branch, bucket.offset));
        for (long i = 0; i < bucket.count; ++i) to[i] = static_cast<T>(from[i]);
      }
    }
  }
  void run(int b, int) override {
    schedule::Bucket const& bucket = this->bucket(b);
    Axis const ax = axis_of(bucket);
    long const begin = op::part_begin(bucket.count, m_->index(ax), m_->size(ax));
    long const end = op::part_begin(bucket.count, m_->index(ax) + 1, m_->size(ax));
    Reduction const& how = reduction_[bucket.over == schedule::over_all];
    for (Leaf const& l : how.leaves) {
      m_->read_from(l.rank, end - begin, sizeof(Wire));
      m_->template fetch<Wire>(l.rank, wire(l.branch, bucket.offset), begin, end - begin);
    }
    Wire* own = m_->template at<Wire>(m_->rank, wire(0, bucket.offset));
    sum_leaves<T>(
        how, begin, end,
        [&](Leaf const& l) { return m_->template at<Wire const>(l.rank, wire(l.branch, bucket.offset)); },
        [&](long first, long count, A const* v) {
          for (long i = 0; i < count; ++i) own[first + i] = static_cast<Wire>(v[i]);
        });
  }
  void step(int b, Stepping<T> const& stepping) override {
    schedule::Bucket const& bucket = this->bucket(b);
    Axis const ax = axis_of(bucket);
    for (int i = 0; i < m_->size(ax); ++i) {
      int const peer = m_->peer(ax, i);
      long const at = op::part_begin(bucket.count, i, m_->size(ax)),
                 count = op::part_size(bucket.count, i, m_->size(ax));
      m_->read_from(peer, count, sizeof(Wire));
      m_->template fetch<Wire>(peer, wire(0, bucket.offset), at, count);
      stepping.step(bucket.offset + at, count, m_->template at<Wire const>(peer, wire(0, bucket.offset)) + at);
    }
  }
  /// The other parts replace this rank's branch, which its peers have read; then the sum is `whole`.
  void gather(int b) override {
    schedule::Bucket const& bucket = this->bucket(b);
    Axis const ax = axis_of(bucket);
    for (int i = 0; i < m_->size(ax); ++i) {
      int const peer = m_->peer(ax, i);
      if (peer == m_->rank) continue;
      long const at = op::part_begin(bucket.count, i, m_->size(ax)),
                 count = op::part_size(bucket.count, i, m_->size(ax));
      m_->read_from(peer, count, sizeof(Wire));
      m_->template fetch<Wire>(peer, wire(0, bucket.offset), at, count);
      std::copy_n(m_->template at<Wire const>(peer, wire(0, bucket.offset)) + at, count,
                  m_->template at<Wire>(m_->rank, wire(0, bucket.offset)) + at);
    }
  }
  Wire const* whole(int b) const {
    return m_->template at<Wire const>(m_->rank, wire(0, of_.program->bucket[b].offset));
  }

 private:
  long wire(int branch, long offset) const {
    return layout_->wire + (branch * of_.program->weight_elements + offset) * static_cast<long>(sizeof(Wire));
  }

  Reduction reduction_[2];  // over the replicas, over all ranks
};

}  // namespace cleave::backend::host
