// backend/host/gradients/gradients.hpp - reduces gradients: each bucket starts after its backward pass and advances between kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "direct.hpp"
#include "encoded.hpp"
#include "factors.hpp"
#include "norm.hpp"
#include "routed.hpp"
#include "rows.hpp"

namespace cleave::backend::host {

/// Progress flags of a bucket: 1 = send buffer ready; 1 + k = k stages of its exchange done; the last = all reads done,
/// so that the next pass may write. Buckets are started, and updated, from the last to the first, and advance one at a
/// time.
template <class P> class Gradients {
 public:
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  static constexpr bool encodes = bool(P::format.encoding) && !P::served;
  using Unencoded = typename std::conditional_t<bool(P::format.path), meta::type<Routed<P>>, meta::type<Direct<P>>>::is;
  using Exchange = typename std::conditional_t<encodes, meta::type<Encoded<P>>, meta::type<Unencoded>>::is;

  void prepare(Member& m, schedule::Share const& share, schedule::Layout<P::ops::size> const& layout) {
    m_ = &m;
    gradients_ = layout.gradients;
    for (int s = 0; s < P::schedule.steps; ++s) {
      if (P::schedule.step[s].what == schedule::Do::Start) start_step_[P::schedule.step[s].node] = s;
    }
    exchange_.prepare(m, share, layout);
    if constexpr (any_rows) rows_.prepare(m, share, layout);
    if constexpr (any_factors) factors_.prepare(m, share, layout);
    started_.reserve(static_cast<std::size_t>(P::schedule.buckets));
  }

  void reclaim(int b) {
    Axis const ax = axis(b);
    if (m_->size(ax) > 1 && trained_ > 0) m_->await_mark(ax, start_step_[b], trained_ * Member::marks + done);
  }
  void start(int b) {
    if (m_->size(axis(b)) == 1) return;
    if (P::schedule.bucket[b].factors > 0) reclaim(b);
    of(b, [&](auto& e) { e.start(b); });
    m_->reach(start_step_[b], 1);
    started_.push_back(b);
  }
  /// Called between kernels. Runs the next stage once all peers it reads are ready; never blocks.
  void progress() {
    m_->world->progress();
    if (started_.empty()) return;
    int const b = started_.front(), whom = of(b, [&](auto&e) { return e.whom(b, stage_); });
    bool const there = whom == nobody      ? true
                       : whom == everybody ? m_->all_reached(axis(b), start_step_[b], 1 + stage_)
                                           : m_->has_reached(whom, start_step_[b], 1 + stage_);
    if (there) advance();
  }
  void update(int b, Stepping<T> const& stepping) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    auto const step = [&](auto const* g) {
      stepping.template step<typename P::optimizer>(bucket.offset, bucket.count, g);
    };
    if constexpr (P::clips) {
      whole(b, step);
    } else if (m_->size(axis(b)) == 1) {
      step(own_sum(b));
    } else {
      finish(b, [&](auto& e) { e.step(b, stepping); });
    }
  }
  /// For clipping, before any update: waits for all sums and gathers them. Returns the sum of the squares that this way
  /// counts.
  double squares() {
    for (int b = P::schedule.buckets - 1; b >= 0; --b) {
      if (m_->size(axis(b)) == 1) continue;
      finish(b, [&](auto& e) {
        if constexpr (std::remove_reference_t<decltype(e)>::reads_peers) e.gather(b);
      });
    }
    double sum = 0;
    schedule::each_of_norm<P>([&](schedule::OfNorm const& n) {
      if (n.alike && m_->way() != 0) return;
      whole(n.bucket,
            [&](auto const* g) { sum += host::squares(g + n.offset - P::schedule.bucket[n.bucket].offset, n.count); });
    });
    return sum;
  }
  void trained() { trained_ = m_->round; }
  /// An upper bound of the stages and waits in a step.
  std::size_t most_spans() {
    int n = 0;
    for (int b = 0; b < P::schedule.buckets; ++b) n += 3 + 2 * of(b, [&](auto& e) { return e.stages(b); });
    return static_cast<std::size_t>(n);
  }
  double exposed() const { return exposed_; }

 private:
  /// The last stage of a bucket is done; `last` is the last that reads from peers.
  template <class Last> void finish(int b, Last last) {
    double const before = m_->waited;
    while (!started_.empty() && started_.front() >= b) {
      int const first = started_.front();
      await(first, of(first, [&](auto& e) { return e.whom(first, stage_); }), 1 + stage_);
      advance();
    }
    of(b, [&](auto& e) {
      if (e.reads_peers) await(b, everybody, 1 + e.stages(b));
      exposed_ += m_->waited - before;
      last(e);
    });
    m_->reach(start_step_[b], done);
  }
  A const* own_sum(int b) const { return m_->at<A const>(m_->rank, gradients_) + P::schedule.bucket[b].offset; }
  /// The sum of a bucket that is complete on this rank.
  template <class Visit> void whole(int b, Visit visit) {
    if (m_->size(axis(b)) == 1) return visit(own_sum(b));
    of(b, [&](auto& e) { visit(e.whole(b)); });
  }
  static constexpr int done = Member::marks - 1;
  static constexpr bool any(int schedule::Bucket::*what) {
    for (int b = 0; b < P::schedule.buckets; ++b) {
      if (P::schedule.bucket[b].*what > 0) return true;
    }
    return false;
  }
  static constexpr bool any_rows = any(&schedule::Bucket::row), any_factors = any(&schedule::Bucket::factors);
  /// A bucket's exchange.
  template <class Visit> decltype(auto) of(int b, Visit visit) {
    if constexpr (any_rows) {
      if (P::schedule.bucket[b].row > 0) return visit(rows_);
    }
    if constexpr (any_factors) {
      if (P::schedule.bucket[b].factors > 0) return visit(factors_);
    }
    return visit(exchange_);
  }
  static constexpr Axis axis(int b) { return axis_of(P::schedule.bucket[b]); }
  void await(int b, int whom, int phase) {
    if (whom == everybody) return m_->await(axis(b), start_step_[b], phase);
    if (whom != nobody) m_->await_one(whom, start_step_[b], phase);
  }
  void advance() {
    int const b = started_.front();
    long const begin = m_->timeline ? Timeline::now() : 0;
    bool const last = of(b, [&](auto& e) {
      e.run(b, stage_++);
      return stage_ == e.stages(b);
    });
    if (m_->timeline) m_->timeline->note(Did::Reduce, Lane::Sums, start_step_[b], begin);
    m_->reach(start_step_[b], 1 + stage_);
    if (!last) return;
    started_.erase(started_.begin());
    stage_ = 0;
  }

  Member* m_ = nullptr;
  Exchange exchange_;
  std::conditional_t<any_rows, SparseRows<P>, meta::list<>> rows_;
  std::conditional_t<any_factors, Factors<P>, meta::list<>> factors_;
  int start_step_[P::schedule.buckets + 1]{};
  std::vector<int> started_;
  int stage_ = 0;  // of the first
  long gradients_ = 0, trained_ = 0;
  double exposed_ = 0;
};

}  // namespace cleave::backend::host
