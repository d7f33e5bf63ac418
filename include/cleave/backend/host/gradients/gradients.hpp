// backend/host/gradients/gradients.hpp - reduces gradients: a bucket starts after its backward pass, advances between kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "exchange.hpp"

namespace cleave::backend::host {

/// Progress flags of a bucket: 1 = send buffer ready; 1 + k = k stages of its exchange done; the last = all reads done,
/// so that the next pass may write. Buckets are started, and updated, from the last to the first, and advance one at a
/// time.
template <class N> class Gradients {
 public:
  using T = N;
  using A = tensor::accumulate_t<T>;

  void prepare(ExchangeContext<T> const& of) {
    of_ = of;
    m_ = of.m;
    schedule::Program const& program = *of.program;
    start_step_.resize(static_cast<std::size_t>(program.buckets) + 1);
    for (int s = 0; s < program.steps; ++s) {
      schedule::Step const& step = program.step[s];
      if (step.what == schedule::Do::Start) start_step_[static_cast<std::size_t>(step.node)] = s;
    }
    exchange_ = of.functions->exchange(of);
    if (of.functions->rows_exchange) rows_ = of.functions->rows_exchange(of);
    if (of.functions->factors_exchange) factors_ = of.functions->factors_exchange(of);
    started_.reserve(static_cast<std::size_t>(program.buckets));
  }

  void reclaim(int b) {
    Axis const ax = axis(b);
    if (m_->size(ax) > 1 && trained_ > 0) m_->await_mark(ax, start_step(b), trained_ * Member::marks + done);
  }
  void start(int b) {
    if (m_->size(axis(b)) == 1) return;
    if (bucket(b).factors > 0) reclaim(b);
    exchange(b).start(b);
    m_->reach(start_step(b), 1);
    started_.push_back(b);
  }
  /// Called between kernels. Runs the next stage once all peers it reads are ready; never blocks.
  void progress() {
    m_->world->progress();
    if (started_.empty()) return;
    int const b = started_.front(), whom = exchange(b).whom(b, stage_);
    bool const there = whom == nobody      ? true
                       : whom == everybody ? m_->all_reached(axis(b), start_step(b), 1 + stage_)
                                           : m_->has_reached(whom, start_step(b), 1 + stage_);
    if (there) advance();
  }
  void update(int b, Stepping<T> const& stepping) {
    if (m_->size(axis(b)) == 1) return stepping.step(bucket(b).offset, bucket(b).count, own_sum(b));
    if (of_.program->clips) return exchange(b).step_gathered(b, stepping);
    finish(b, [&](Exchange<T>& e) { e.step(b, stepping); });
  }
  /// For clipping, before any update: waits for all sums and gathers them. Returns the sum of the squares that this way
  /// counts.
  double squares() {
    for (int b = of_.program->buckets - 1; b >= 0; --b) {
      if (m_->size(axis(b)) > 1) finish(b, [&](Exchange<T>& e) { e.gather(b); });
    }
    double sum = 0;
    for (int i = 0; i < of_.program->norms; ++i) {
      schedule::OfNorm const& n = of_.program->norm[i];
      if (n.alike && m_->way() != 0) continue;
      long const first = n.offset - bucket(n.bucket).offset;
      sum += m_->size(axis(n.bucket)) == 1 ? host::squares(own_sum(n.bucket) + first, n.count)
                                           : exchange(n.bucket).squares(n.bucket, first, n.count);
    }
    return sum;
  }
  void trained() { trained_ = m_->round; }
  /// An upper bound of the stages and waits in a step.
  std::size_t most_spans() const {
    int n = 0;
    for (int b = 0; b < of_.program->buckets; ++b) n += 3 + 2 * exchange(b).stages(b);
    return static_cast<std::size_t>(n);
  }
  double exposed() const { return exposed_; }

 private:
  /// The last stage of a bucket is done; `last` is the last that reads from peers.
  template <class Last> void finish(int b, Last last) {
    double const before = m_->waited;
    while (!started_.empty() && started_.front() >= b) {
      int const first = started_.front();
      await(first, exchange(first).whom(first, stage_), 1 + stage_);
      advance();
    }
    Exchange<T>& e = exchange(b);
    if (e.reads_peers()) await(b, everybody, 1 + e.stages(b));
    exposed_ += m_->waited - before;
    last(e);
    m_->reach(start_step(b), done);
  }
  A const* own_sum(int b) const { return m_->at<A const>(m_->rank, of_.layout->gradients) + bucket(b).offset; }
  static constexpr int done = Member::marks - 1;
  schedule::Bucket const& bucket(int b) const { return of_.program->bucket[b]; }
  int start_step(int b) const { return start_step_[static_cast<std::size_t>(b)]; }
  Exchange<T>& exchange(int b) const {
    return bucket(b).row > 0 ? *rows_ : bucket(b).factors > 0 ? *factors_ : *exchange_;
  }
  Axis axis(int b) const { return axis_of(bucket(b)); }
  void await(int b, int whom, int phase) {
    if (whom == everybody) return m_->await(axis(b), start_step(b), phase);
    if (whom != nobody) m_->await_one(whom, start_step(b), phase);
  }
  void advance() {
    int const b = started_.front();
    long const begin = m_->timeline ? Timeline::now() : 0;
    Exchange<T>& e = exchange(b);
    e.run(b, stage_++);
    bool const last = stage_ == e.stages(b);
    if (m_->timeline) m_->timeline->note(Did::Reduce, Lane::Sums, start_step(b), begin);
    m_->reach(start_step(b), 1 + stage_);
    if (!last) return;
    started_.erase(started_.begin());
    stage_ = 0;
  }

  ExchangeContext<T> of_;
  Member* m_ = nullptr;
  std::unique_ptr<Exchange<T>> exchange_, rows_, factors_;
  std::vector<int> start_step_;  // of each bucket
  std::vector<int> started_;
  int stage_ = 0;  // of the first
  long trained_ = 0;
  double exposed_ = 0;
};

}  // namespace cleave::backend::host
