// backend/host/gradients/gradients.hpp - reduces gradients: a bucket starts after its backward pass, advances between kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <utility>

#include "bucket.hpp"

namespace cleave::backend::host {

/// Progress flags of a bucket: 1 + k = k rounds of its list ended; the last = all reads done, so that the next pass may
/// write. Rounds behind the update are run when the next bucket has been updated, or at the end; if gradients are
/// updated in turn, at once. Buckets are started, and updated, from the last to the first, and advance one at a time.
template <class N> class Gradients {
 public:
  using T = N;
  using A = tensor::accumulate_t<T>;

  void prepare(BucketContext<T> const& of) {
    of_ = of;
    m_ = of.m;
    schedule::Program const& program = *of.program;
    std::vector<int> start(static_cast<std::size_t>(program.buckets));
    for (int s = 0; s < program.steps; ++s) {
      if (program.step[s].what == schedule::Do::Start) start[static_cast<std::size_t>(program.step[s].node)] = s;
    }
    for (int s : start) sum_.emplace_back(of, s);
    int const stage = of.share->ranks.stage(m_->rank);
    while (last_updated_ + 1 < program.buckets && program.pipeline.stage(program.bucket[last_updated_].part) != stage)
      ++last_updated_;
    ended_.resize(start.size());
    begun_.resize(start.size());
    done_in_.resize(start.size());
    started_.reserve(start.size());
  }

  void reclaim(int b) {
    long const before = done_in_[static_cast<std::size_t>(b)];  // perhaps the next sum has started already
    if (sum(b).group().size > 1 && before > 0)
      m_->await_mark(sum(b).group(), sum(b).step(), before * Member::marks + done);
  }
  /// Of the gradients of an accumulation round, the last of its sum.
  void start(int b, int accumulation) {
    BucketSum<T>& s = sum(b);
    s.begin(accumulation);
    if (s.rounds() == 0) return;
    if (s.bucket().factors > 0) reclaim(b);
    begun(b) = m_->round;
    int& round = ended(b);
    for (round = 0; round < last(b) && s.peers(round).empty(); ++round) s.run(round);
    reach(b, 1 + round);
    if (round < last(b)) started_.push_back(b);
  }
  /// Called between kernels. Runs the next round once all peers that it reads are ready; never blocks.
  void progress() {
    m_->world->progress();
    if (started_.empty()) return;
    int const b = started_.front(), round = ended(b);
    if (m_->have_reached(sum(b).peers(round), sum(b).step(), mark(b, 1 + round))) advance();
  }
  /// Sums the part that this rank keeps, and waits for the ranks that read its gradients, whose place the next bucket
  /// but one takes.
  void keep(int b) {
    if (sum(b).rounds() == 0 || !sum(b).keeps()) return;
    finish(b);
    double const before = m_->waited;
    m_->await_mark(sum(b).group(), sum(b).step(), mark(b, 1 + ended(b)));
    exposed_ += m_->waited - before;
  }
  void update(int b, Stepping<T> const& stepping) {
    schedule::Bucket const& bucket = sum(b).bucket();
    if (sum(b).rounds() == 0) {
      Stepping<T> own = stepping;
      own.shift = sum(b).parts().shifts(b, 0);
      own.step(bucket.offset, bucket.count, own_sum(b));
    } else {
      if (!of_.program->waits_for_norm) finish(b);
      sum(b).run(sum(b).update_round(), &stepping);
      if (of_.program->waits_for_norm && !sum(b).parts().in_parts()) return;
      if (sum(b).update_round() + 1 == sum(b).rounds()) return ended_in_update(b);
      reach(b, 1 + ++ended(b));
      if (updated_ >= 0) read_weights(updated_);
      updated_ = b;
    }
    // The ranks that have updated their parts have read this one's gradients, whose place the next bucket but one
    // takes.
    if ((b == last_updated_ || in_turn()) && updated_ >= 0) read_weights(std::exchange(updated_, -1));
  }
  /// For clipping, before any update: waits for all sums. Returns the sum of the squares that this rank counts.
  ExactSquares<A> squares() {
    for (int b = of_.program->buckets - 1; b >= 0; --b) {
      if (sum(b).rounds() == 0) continue;
      if (!sum(b).keeps()) finish(b);
      if (!sum(b).parts().in_parts()) reach(b, done);
    }
    ExactSquares<A> all;
    for (int i = 0; i < of_.program->norms; ++i) {
      schedule::OfNorm const& n = of_.program->norm[i];
      if (!schedule::counts(*of_.program, n, of_.share->ranks, m_->rank)) continue;
      BucketSum<T> const& of = sum(n.bucket);
      schedule::Strided const here = of.summed_here();
      long const begin = n.offset - of.bucket().offset, from = std::max(begin, here.begin),
                 to = std::min(begin + n.count, here.begin + here.width);
      if (from < to) of.add_squares(from, to - from, all);
    }
    return all;
  }
  /// An upper bound of the rounds and waits in a step.
  std::size_t most_spans() const {
    std::size_t n = 0;
    for (BucketSum<T> const& s : sum_) n += 4 + 2 * static_cast<std::size_t>(s.rounds());
    return n;
  }
  double exposed() const { return exposed_; }

 private:
  /// All rounds of a bucket before the update.
  void finish(int b) {
    double const before = m_->waited;
    while (!started_.empty() && started_.front() >= b) {
      await(started_.front());
      advance();
    }
    await(b);
    exposed_ += m_->waited - before;
  }
  /// Whether the place of a bucket's gradients is written again between its update and the end of the step.
  bool in_turn() { return of_.layout->gradient.in_turn() && !sum(0).keeps(); }
  void ended_in_update(int b) {
    reach(b, done);
    if (!in_turn()) return;
    double const before = m_->waited;
    m_->await_mark(sum(b).group(), sum(b).step(), mark(b, done));
    exposed_ += m_->waited - before;
  }
  /// Of the ranks that have updated the other parts of a bucket.
  void read_weights(int b) {
    double const before = m_->waited;
    await(b);
    exposed_ += m_->waited - before;
    sum(b).run(ended(b));
    reach(b, done);
  }
  A const* own_sum(int b) const {
    return m_->at<A const>(m_->rank, of_.layout->gradients) + of_.layout->gradient.of(of_.program->bucket, b);
  }
  static constexpr int done = Member::marks - 1;
  /// All marks of a sum are of the round that has started it: in a pipeline it may end in a later one.
  long& begun(int b) { return begun_[static_cast<std::size_t>(b)]; }
  long mark(int b, int phase) { return begun(b) * Member::marks + phase; }
  void reach(int b, int phase) {
    m_->world->reach(m_->rank, sum(b).step(), mark(b, phase));
    if (phase == done) done_in_[static_cast<std::size_t>(b)] = begun(b);
  }
  BucketSum<T>& sum(int b) { return sum_[static_cast<std::size_t>(b)]; }
  int& ended(int b) { return ended_[static_cast<std::size_t>(b)]; }
  /// The round of the update.
  int last(int b) { return sum(b).update_round(); }
  /// Until the next round of a bucket may run.
  void await(int b) {
    if (ended(b) < sum(b).rounds()) m_->await_these(sum(b).peers(ended(b)), sum(b).step(), mark(b, 1 + ended(b)));
  }
  void advance() {
    int const b = started_.front(), step = sum(b).step();
    long const begin = m_->timeline ? Timeline::now() : 0;
    sum(b).run(ended(b)++);
    if (m_->timeline) m_->timeline->note(Did::Reduce, Lane::Sums, step, begin);
    reach(b, 1 + ended(b));
    if (ended(b) == last(b)) started_.erase(started_.begin());
  }

  BucketContext<T> of_;
  Member* m_ = nullptr;
  std::vector<BucketSum<T>> sum_;
  std::vector<int> ended_;  // rounds of each bucket in this step
  std::vector<int> started_;
  int last_updated_ = 0;       // of a step: the first bucket of the stage
  int updated_ = -1;           // the bucket whose other weights are to be read
  std::vector<long> begun_;    // of each bucket the round in which its last sum has started
  std::vector<long> done_in_;  // and in which the last one started that all ranks have read
  double exposed_ = 0;
};

}  // namespace cleave::backend::host
