// backend/host/gradients/encoded.hpp - compressed all-reduce of a bucket: parts are exchanged, summed, encoded again; or all from all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "exchange.hpp"

namespace cleave::backend::host {

/// Sums have the accumulator's format and the order of the ranks, and are taken by one rank, or by all alike: all
/// replicas update with the same bits.
template <class N> class Encoded : public WholeExchange<Encoded<N>, N> {
  using Base = WholeExchange<Encoded<N>, N>;
  using Base::layout_, Base::m_, Base::of_;

 public:
  using T = N;
  using A = tensor::accumulate_t<T>;

  using Base::Base;
  bool reads_peers() const override { return encoding().resums; }
  void start(int b) override {
    for (int p = 0; p < pieces(b); ++p) {
      long const at = begin(b, p);
      of_.functions->encode(count(b, p), sums(b) + at, left(layout_->left[b], at), message(m_->rank, b, p));
    }
  }
  /// This rank's part, or everything.
  void run(int b, int) override {
    Axis const ax = axis_of(this->bucket(b));
    int const p = encoding().resums ? m_->index(ax) : 0;
    A* const to = sums(b) + begin(b, p);
    for (long i = 0; i < count(b, p); ++i) to[i] = 0;
    for (int i = 0; i < m_->size(ax); ++i) of_.functions->add(count(b, p), read(m_->peer(ax, i), b, p), to);
    if (encoding().resums) {
      of_.functions->encode(count(b, p), to, left(layout_->left_of_sum[b], 0), message(m_->rank, b, p));
    }
  }
  void step(int b, Stepping<T> const& stepping) override {
    schedule::Bucket const& bucket = this->bucket(b);
    Axis const ax = axis_of(bucket);
    for (int p = 0; p < pieces(b); ++p) {
      A* const to = sums(b) + begin(b, p);
      if (encoding().resums) of_.functions->decode(count(b, p), read(m_->peer(ax, p), b, p), to);
      stepping.step(bucket.offset + begin(b, p), count(b, p), to);
    }
  }
  void gather(int b) override {
    if (!encoding().resums) return;
    for (int p = 0; p < pieces(b); ++p) {
      of_.functions->decode(count(b, p), read(m_->peer(axis_of(this->bucket(b)), p), b, p), sums(b) + begin(b, p));
    }
  }
  A const* whole(int b) const { return sums(b); }

 private:
  schedule::Encoding const& encoding() const { return of_.program->format.encoding; }
  int pieces(int b) const { return schedule::pieces(encoding(), m_->size(axis_of(this->bucket(b)))); }
  long begin(int b, int p) const { return op::part_begin(this->bucket(b).count, p, pieces(b)); }
  long count(int b, int p) const { return op::part_size(this->bucket(b).count, p, pieces(b)); }
  A* sums(int b) const { return Base::sums(0, this->bucket(b).offset); }
  A* left(long region, long at) const {
    return encoding().feedback ? m_->template at<A>(m_->rank, region) + at : nullptr;
  }
  long place(int b, int p) const {
    schedule::Bucket const& bucket = this->bucket(b);
    return layout_->encoded[b] + schedule::piece_begin(encoding(), bucket.count, p, m_->size(axis_of(bucket)));
  }
  std::byte* message(int rank, int b, int p) const { return m_->template at<std::byte>(rank, place(b, p)); }
  std::byte const* read(int peer, int b, int p) {
    long const bytes = encoding().bytes(count(b, p));
    m_->read_message(peer, count(b, p), bytes);
    m_->template fetch<std::byte>(peer, place(b, p), 0, bytes);
    return message(peer, b, p);
  }
};

}  // namespace cleave::backend::host
