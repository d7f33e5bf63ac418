// backend/host/gradients/encoded.hpp - compressed all-reduce of a bucket: parts are exchanged, summed, encoded again; or all from all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../send/codec.hpp"
#include "../execution/actions.hpp"

namespace cleave::backend::host {

/// Sums have the accumulator's format and the order of the ranks, and are taken by one rank, or by all alike: all
/// replicas update with the same bits. An exchange like Direct.
template <class P> class Encoded {
 public:
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  using C = typename P::codec;
  using Layout = schedule::Layout<P::ops::size>;
  static constexpr schedule::Encoding encoding = P::format.encoding;
  static constexpr bool reads_peers = encoding.resums;

  void prepare(Member& m, schedule::Share const&, Layout const& layout) {
    m_ = &m;
    layout_ = &layout;
  }
  void start(int b) {
    for (int p = 0; p < pieces(b); ++p) {
      long const at = begin(b, p);
      send::encode<C>(count(b, p), sums(b) + at, left(layout_->left[b], at), message(m_->rank, b, p));
    }
  }
  static int stages(int) { return 1; }
  int whom(int, int) const { return everybody; }
  /// This rank's part, or everything.
  void run(int b, int) {
    Axis const ax = axis_of(P::schedule.bucket[b]);
    int const p = encoding.resums ? m_->index(ax) : 0;
    A* const to = sums(b) + begin(b, p);
    for (long i = 0; i < count(b, p); ++i) to[i] = 0;
    for (int i = 0; i < m_->size(ax); ++i) send::add<C>(count(b, p), read(m_->peer(ax, i), b, p), to);
    if (encoding.resums) {
      send::encode<C>(count(b, p), to, left(layout_->left_of_sum[b], 0), message(m_->rank, b, p));
    }
  }
  void step(int b, Stepping<T> const& stepping) {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    Axis const ax = axis_of(bucket);
    for (int p = 0; p < pieces(b); ++p) {
      A* const to = sums(b) + begin(b, p);
      if (encoding.resums) send::decode<C>(count(b, p), read(m_->peer(ax, p), b, p), to);
      stepping.template step<typename P::optimizer>(bucket.offset + begin(b, p), count(b, p), to);
    }
  }
  void gather(int b) {
    for (int p = 0; p < pieces(b); ++p) {
      send::decode<C>(count(b, p), read(m_->peer(axis_of(P::schedule.bucket[b]), p), b, p), sums(b) + begin(b, p));
    }
  }
  A const* whole(int b) const { return sums(b); }

 private:
  int pieces(int b) const { return schedule::pieces(encoding, m_->size(axis_of(P::schedule.bucket[b]))); }
  long begin(int b, int p) const { return op::part_begin(P::schedule.bucket[b].count, p, pieces(b)); }
  long count(int b, int p) const { return op::part_size(P::schedule.bucket[b].count, p, pieces(b)); }
  A* sums(int b) const { return m_->at<A>(m_->rank, layout_->gradients) + P::schedule.bucket[b].offset; }
  A* left(long region, long at) const { return encoding.feedback ? m_->at<A>(m_->rank, region) + at : nullptr; }
  long place(int b, int p) const {
    schedule::Bucket const& bucket = P::schedule.bucket[b];
    return layout_->encoded[b] + schedule::piece_begin(encoding, bucket.count, p, m_->size(axis_of(bucket)));
  }
  std::byte* message(int rank, int b, int p) const { return m_->at<std::byte>(rank, place(b, p)); }
  std::byte const* read(int peer, int b, int p) {
    long const bytes = encoding.bytes(count(b, p));
    m_->read_message(peer, count(b, p), bytes);
    m_->fetch<std::byte>(peer, place(b, p), 0, bytes);
    return message(peer, b, p);
  }

  Member* m_ = nullptr;
  Layout const* layout_ = nullptr;
};

}  // namespace cleave::backend::host
