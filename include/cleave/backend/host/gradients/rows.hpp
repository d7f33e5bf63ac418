// backend/host/gradients/rows.hpp - all-reduce of a bucket with few nonzero rows: every rank reads these rows from all and adds them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstring>

#include "../../../schedule/rows.hpp"
#include "exchange.hpp"

namespace cleave::backend::host {

/// The sums are those of Direct, bit for bit: a missing row is zero.
template <class N> class SparseRows : public WholeExchange<SparseRows<N>, N> {
  using Base = WholeExchange<SparseRows<N>, N>;
  using Base::bucket, Base::layout_, Base::m_, Base::of_, Base::sums;

 public:
  using T = N;
  using A = tensor::accumulate_t<T>;
  using Wire = typename Base::Wire;

  explicit SparseRows(ExchangeContext<T> const& of) : Base(of) {
    m_->sparse.resize(m_->received.size());
    int longest = 1;
    for (int b = 0; b < of.program->buckets; ++b) longest = std::max(longest, bucket(b).row);
    none_.assign(static_cast<std::size_t>(longest), Wire{});
    for (Axis a : {Axis::Data, Axis::World}) {
      Reduction& how = reduction_[a == Axis::World];
      how = this->reduction_over(a);
      reads_[a == Axis::World].resize(how.leaves.size());
    }
  }
  void start(int b) override {
    for (Leaf const& l : reduction_[bucket(b).over == schedule::over_all].leaves) {
      if (l.rank == m_->rank) write(b, l.branch);
    }
  }
  void run(int b, int) override {
    schedule::Bucket const& all = bucket(b);
    Reduction const& how = reduction_[all.over == schedule::over_all];
    std::vector<Read>& reads = reads_[all.over == schedule::over_all];
    for (std::size_t l = 0; l < how.leaves.size(); ++l) {
      reads[l] = read(b, how.leaves[l].rank, how.leaves[l].branch);
    }
    A* const to = sums(0, all.offset);
    for (long i = 0; i < all.count; ++i) to[i] = 0;
    for (;;) {
      long row = all.count;
      for (Read const& r : reads) row = std::min(row, r.next());
      if (row == all.count) return;
      sum_leaves<T>(
          how, 0, all.row,
          [&](Leaf const& l) {
            Read const& r = reads[static_cast<std::size_t>(&l - how.leaves.data())];
            return r.next() == row ? r.values + r.at * all.row : none_.data();
          },
          [&](long first, long count, A const* v) {
            for (long i = 0; i < count; ++i) to[row * all.row + first + i] = static_cast<A>(static_cast<Wire>(v[i]));
          });
      for (Read& r : reads) r.at += r.next() == row;
    }
  }
  A const* whole(int b) const { return sums(0, bucket(b).offset); }

 private:
  /// A message, and how far its rows have been added.
  struct Read {
    long rows = 0, at = 0;
    Wire const* values = nullptr;
    std::byte const* indices = nullptr;
    long next() const {
      std::uint32_t row = ~0u;
      if (at < rows) std::memcpy(&row, indices + at * schedule::row_index, sizeof row);
      return at < rows ? long{row} : std::numeric_limits<long>::max();
    }
  };

  long place(int b, int branch) const { return layout_->encoded[b] + branch * layout_->rows_apart[b]; }
  void write(int b, int branch) {
    schedule::Bucket const& all = bucket(b);
    std::byte* const out = m_->template at<std::byte>(m_->rank, place(b, branch));
    A const* const g = sums(branch, all.offset);
    Wire* const values = reinterpret_cast<Wire*>(out + schedule::rows_header);
    long rows = 0;
    auto const each_row = [&](auto visit) {
      for (long r = 0; r < all.count / all.row; ++r) {
        bool any = false;
        for (long i = 0; i < all.row; ++i) any |= g[r * all.row + i] != 0;
        if (any) visit(r);
      }
    };
    each_row([&](long r) {
      for (long i = 0; i < all.row; ++i) values[rows * all.row + i] = static_cast<Wire>(g[r * all.row + i]);
      ++rows;
    });
    std::byte* index = reinterpret_cast<std::byte*>(values + rows * all.row);
    each_row([&](long r) {
      auto const number = static_cast<std::uint32_t>(r);
      std::memcpy(index, &number, sizeof number);
      index += schedule::row_index;
    });
    std::memcpy(out, &rows, sizeof rows);
  }
  Read read(int b, int peer, int branch) {
    schedule::Bucket const& all = bucket(b);
    long const from = place(b, branch);
    Read r;
    m_->template fetch<std::byte>(peer, from, 0, schedule::rows_header);
    std::memcpy(&r.rows, m_->template at<std::byte>(peer, from), sizeof r.rows);
    long const bytes = schedule::rows_bytes(all, r.rows, sizeof(Wire));
    m_->template fetch<std::byte>(peer, from, schedule::rows_header, bytes - schedule::rows_header);
    m_->read_rows(peer, r.rows, r.rows * all.row, schedule::rows_header, bytes - schedule::rows_header);
    r.values = m_->template at<Wire const>(peer, from + schedule::rows_header);
    r.indices = reinterpret_cast<std::byte const*>(r.values + r.rows * all.row);
    return r;
  }

  Reduction reduction_[2];  // over the replicas, over all ranks
  std::vector<Read> reads_[2];
  std::vector<Wire> none_;
};

}  // namespace cleave::backend::host
