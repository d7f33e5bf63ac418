// backend/host/gradients/direct.hpp - one-shot all-reduce of a bucket: each rank sums its part from all, then reads the other parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../execution/actions.hpp"

namespace cleave::backend::host {

/// An exchange: one way to sum a bucket's gradients. `start` prepares what peers read. Then come `stages`; each begins
/// when the ranks in `whom` have finished the one before. `step` comes last, after all ranks if it `reads_peers`. If
/// all sums are needed before a step, `gather` takes its place.
template <class P> class Direct {
 public:
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  using Layout = schedule::Layout<P::ops::size>;
  static constexpr bool narrow = sizeof(T) < sizeof(A), reads_peers = true;
  using Wire = std::conditional_t<narrow, T, A>;  // what is sent

  void prepare(Member& m, schedule::Share const& share, Layout const& layout) {
    m_ = &m;
    layout_ = &layout;
    for (Axis a : {Axis::Data, Axis::World}) {
      reduction_[a == Axis::World] = reduction(m, a, share, P::format.ordered, narrow && P::format.ordered);
    }
  }
  void start(int b) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    if constexpr (narrow) {
      for (int branch = 0; branch < layout_->branches; ++branch) {
        A const* from = sums(branch, bucket.offset);
        T* to = m_->at<T>(m_->rank, wire(branch, bucket.offset));
        for (long i = 0; i < bucket.count; ++i) to[i] = static_cast<T>(from[i]);
      }
    }
  }
  static int stages(int) { return 1; }
  int whom(int, int) const { return everybody; }
  void run(int b, int) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    Axis const ax = axis_of(bucket);
    long const begin = op::part_begin(bucket.count, m_->index(ax), m_->size(ax));
    long const end = op::part_begin(bucket.count, m_->index(ax) + 1, m_->size(ax));
    Reduction const& how = reduction_[bucket.world];
    for (Leaf const& l : how.leaves) {
      m_->read_from(l.rank, end - begin, sizeof(Wire));
      m_->fetch<Wire>(l.rank, wire(l.branch, bucket.offset), begin, end - begin);
    }
    Wire* own = m_->at<Wire>(m_->rank, wire(0, bucket.offset));
    sum_leaves<T>(
        how, begin, end, [&](Leaf const& l) { return m_->at<Wire const>(l.rank, wire(l.branch, bucket.offset)); },
        [&](long first, long count, A const* v) {
          for (long i = 0; i < count; ++i) own[first + i] = static_cast<Wire>(v[i]);
        });
  }
  void step(int b, Stepping<T> const& stepping) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    Axis const ax = axis_of(bucket);
    for (int i = 0; i < m_->size(ax); ++i) {
      int const peer = m_->peer(ax, i);
      long const at = op::part_begin(bucket.count, i, m_->size(ax)),
                 count = op::part_size(bucket.count, i, m_->size(ax));
      m_->read_from(peer, count, sizeof(Wire));
      m_->fetch<Wire>(peer, wire(0, bucket.offset), at, count);
      stepping.template step<typename P::optimizer>(bucket.offset + at, count,
                                                    m_->at<Wire const>(peer, wire(0, bucket.offset)) + at);
    }
  }
  /// The other parts replace this rank's branch, which its peers have read; then the sum is `whole`.
  void gather(int b) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    Axis const ax = axis_of(bucket);
    for (int i = 0; i < m_->size(ax); ++i) {
      int const peer = m_->peer(ax, i);
      if (peer == m_->rank) continue;
      long const at = op::part_begin(bucket.count, i, m_->size(ax)),
                 count = op::part_size(bucket.count, i, m_->size(ax));
      m_->read_from(peer, count, sizeof(Wire));
      m_->fetch<Wire>(peer, wire(0, bucket.offset), at, count);
      std::copy_n(m_->at<Wire const>(peer, wire(0, bucket.offset)) + at, count,
                  m_->at<Wire>(m_->rank, wire(0, bucket.offset)) + at);
    }
  }
  Wire const* whole(int b) const { return m_->at<Wire const>(m_->rank, wire(0, P::schedule.bucket[b].offset)); }

 private:
  long wire(int branch, long offset) const {
    return layout_->wire + (branch * P::schedule.weight_elements + offset) * static_cast<long>(sizeof(Wire));
  }
  A* sums(int branch, long offset) const {
    return m_->at<A>(m_->rank, layout_->gradients) + branch * P::schedule.weight_elements + offset;
  }

  Member* m_ = nullptr;
  Layout const* layout_ = nullptr;
  Reduction reduction_[2];  // over the replicas, over all ranks
};

}  // namespace cleave::backend::host
