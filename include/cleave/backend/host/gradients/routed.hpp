// backend/host/gradients/routed.hpp - scheduled all-reduce of a bucket: in each round a rank reads from one peer of the same round.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "exchange.hpp"

namespace cleave::backend::host {

/// Sums have the accumulator's format; what is sent has that of the data.
template <class N> class Routed : public WholeExchange<Routed<N>, N> {
  using Base = WholeExchange<Routed<N>, N>;
  using Base::bucket, Base::layout_, Base::m_, Base::narrow, Base::of_;

 public:
  using T = N;
  using A = tensor::accumulate_t<T>;
  using Wire = typename Base::Wire;

  using Base::Base;
  void start(int b) override {
    if constexpr (narrow) {
      long const n = bucket(b).count;
      for (long i = 0; i < n; ++i) wire(m_->rank, b)[i] = static_cast<T>(sums(b)[i]);
    }
  }
  int stages(int b) const override { return path().rounds(bucket(b).count, group(b)); }
  int whom(int b, int round) const override {
    send::Move const m = move(b, round);
    return m.any() ? m_->peer(axis_of(bucket(b)), m.peer) : nobody;
  }
  void run(int b, int round) override {
    send::Move const m = move(b, round);
    if (!m.any()) return;
    int const peer = m_->peer(axis_of(bucket(b)), m.peer);
    m_->read_from(peer, m.end - m.begin, sizeof(Wire));
    m_->template fetch<Wire>(peer, offset(b), m.begin, m.end - m.begin);
    Wire const* const from = wire(peer, b);
    Wire* const to = wire(m_->rank, b);
    if (!m.add) {
      std::copy(from + m.begin, from + m.end, to + m.begin);
      return;
    }
    A* const sum = sums(b);
    bool const rounded = this->rounded();
    for (long i = m.begin; i < m.end; ++i) {
      A const v = sum[i] + static_cast<A>(from[i]);
      sum[i] = rounded ? rounded_to<T>(v) : v;
      if constexpr (narrow) to[i] = static_cast<T>(sum[i]);
    }
  }
  Wire const* whole(int b) const { return wire(m_->rank, b); }

 private:
  schedule::Path const& path() const { return of_.program->format.path; }
  send::Group group(int b) const { return schedule::group(bucket(b).over, m_->world->ranks(), sizeof(Wire)); }
  send::Move move(int b, int round) const {
    return path().move(bucket(b).count, m_->index(axis_of(bucket(b))), group(b), round);
  }
  A* sums(int b) const { return Base::sums(0, bucket(b).offset); }
  long offset(int b) const { return layout_->wire + bucket(b).offset * static_cast<long>(sizeof(Wire)); }
  Wire* wire(int rank, int b) const { return m_->template at<Wire>(rank, offset(b)); }
};

}  // namespace cleave::backend::host
