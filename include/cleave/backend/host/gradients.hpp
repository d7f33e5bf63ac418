// backend/host/gradients.hpp - a layer's gradients on their way: started behind its backward pass, summed between kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "actions.hpp"

namespace cleave::backend::host {

/// The marks of a bucket: 1 this rank's branches are there; 2 its part of the sum is; 3 it has read all parts, so that
/// the next pass may write. Buckets are started, and updated, from the last to the first.
template <class P> class Gradients {
 public:
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  static constexpr bool narrow = sizeof(T) < sizeof(A);
  using Wire = std::conditional_t<narrow, T, A>;  // what is sent

  void prepare(Member& m, schedule::Share const& share, schedule::Layout<P::ops::size> const& layout) {
    m_ = &m;
    layout_ = &layout;
    for (int s = 0; s < P::schedule.steps; ++s) {
      if (P::schedule.step[s].what == schedule::Do::Start) start_step_[P::schedule.step[s].node] = s;
    }
    for (Axis a : {Axis::Data, Axis::World}) {
      reduction_[a == Axis::World] = reduction(m, a, share, P::format.ordered, narrow && P::format.ordered);
    }
    started_.reserve(static_cast<std::size_t>(P::schedule.buckets));
  }

  void reclaim(int b) {
    Axis const ax = axis(P::schedule.bucket[b]);
    if (m_->size(ax) > 1 && trained_ > 0) m_->await_mark(ax, start_step_[b], trained_ * Member::marks + 3);
  }
  void start(int b) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    if (m_->size(axis(bucket)) == 1) return;
    if constexpr (narrow) {
      for (int branch = 0; branch < layout_->branches; ++branch) {
        A const* from = sums(branch, bucket.offset);
        T* to = m_->at<T>(m_->rank, wire(branch, bucket.offset));
        for (long i = 0; i < bucket.count; ++i) to[i] = static_cast<T>(from[i]);
      }
    }
    m_->reach(start_step_[b], 1);
    started_.push_back(b);
  }
  /// Between kernels: whoever finds that all are there takes its part of the sum, and nobody waits.
  void progress() {
    m_->world->progress();
    if (started_.empty() ||
        !m_->all_reached(axis(P::schedule.bucket[started_.front()]), start_step_[started_.front()], 1))
      return;
    reduce(started_.front());
    started_.erase(started_.begin());
  }
  void update(int b, Stepping<T> const& stepping) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    Axis const ax = axis(bucket);
    if (m_->size(ax) == 1)
      return stepping.template step<typename P::optimizer>(bucket.offset, bucket.count, sums(0, bucket.offset));
    double const before = m_->waited;
    while (!started_.empty() && started_.front() >= b) {
      int const first = started_.front();
      m_->await(axis(P::schedule.bucket[first]), start_step_[first], 1);
      reduce(first);
      started_.erase(started_.begin());
    }
    m_->await(ax, start_step_[b], 2);
    exposed_ += m_->waited - before;
    for (int i = 0; i < m_->size(ax); ++i) {
      int const peer = m_->peer(ax, i);
      long const at = op::part_begin(bucket.count, i, m_->size(ax)),
                 count = op::part_size(bucket.count, i, m_->size(ax));
      m_->read_from(peer, count, sizeof(Wire));
      m_->fetch<Wire>(peer, wire(0, bucket.offset), at, count);
      stepping.template step<typename P::optimizer>(bucket.offset + at, count,
                                                    m_->at<Wire const>(peer, wire(0, bucket.offset)) + at);
    }
    m_->reach(start_step_[b], 3);
  }
  void trained() { trained_ = m_->round; }
  double exposed() const { return exposed_; }

 private:
  static constexpr Axis axis(schedule::Bucket const& b) { return b.world ? Axis::World : Axis::Data; }
  long wire(int branch, long offset) const {
    return layout_->wire + (branch * P::schedule.weight_elements + offset) * static_cast<long>(sizeof(Wire));
  }

  A* sums(int branch, long offset) const {
    return m_->at<A>(m_->rank, layout_->gradients) + branch * P::schedule.weight_elements + offset;
  }
  void reduce(int b) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    Axis const ax = axis(bucket);
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
    m_->reach(start_step_[b], 2);
  }

  Member* m_ = nullptr;
  schedule::Layout<P::ops::size> const* layout_ = nullptr;
  int start_step_[P::schedule.buckets + 1]{};
  Reduction reduction_[2];  // over the replicas, over all ranks
  std::vector<int> started_;
  long trained_ = 0;
  double exposed_ = 0;
};

}  // namespace cleave::backend::host
