// backend/host/gradients/rows.hpp - gradients with few nonzero rows: the message of a branch, and the sum of messages by row number.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstring>
#include <limits>
#include <vector>

#include "../communication/transfers.hpp"

namespace cleave::backend::host {

/// Writes the nonzero rows of g (rows, row) as a message (schedule/rows.hpp). Wire: an element as it is sent.
template <class Wire, class A> void encode_rows(schedule::Bucket const& bucket, A const* g, std::byte* out) {
  Wire* const values = reinterpret_cast<Wire*>(out + schedule::rows_header);
  long rows = 0;
  auto const each_row = [&](auto visit) {
    for (long r = 0; r < bucket.count / bucket.row; ++r) {
      bool any = false;
      for (long i = 0; i < bucket.row; ++i) any |= g[r * bucket.row + i] != 0;
      if (any) visit(r);
    }
  };
  each_row([&](long r) {
    for (long i = 0; i < bucket.row; ++i) values[rows * bucket.row + i] = static_cast<Wire>(g[r * bucket.row + i]);
    ++rows;
  });
  std::byte* index = reinterpret_cast<std::byte*>(values + rows * bucket.row);
  each_row([&](long r) {
    auto const number = static_cast<std::uint32_t>(r);
    std::memcpy(index, &number, sizeof number);
    index += schedule::row_index;
  });
  std::memcpy(out, &rows, sizeof rows);
}

/// Sums such messages. The sums are those of dense gradients, bit for bit: a missing row is zero.
template <class N> class RowSums {
  using A = tensor::accumulate_t<N>;
  using Wire = std::conditional_t<(sizeof(N) < sizeof(A)), N, A>;

 public:
  RowSums(schedule::Bucket const& bucket, std::size_t most_messages)
      : bucket_(&bucket), messages_(most_messages), none_(static_cast<std::size_t>(bucket.row), Wire{}) {}

  /// Message k is that of sources[k].
  void read(Member& m, std::size_t k, schedule::Source const& s, long from) {
    ReceivedRows& r = messages_[k];
    m.fetch<std::byte>(s.rank, from, 0, schedule::rows_header);
    std::memcpy(&r.rows, m.at<std::byte>(s.rank, from), sizeof r.rows);
    long const bytes = schedule::rows_bytes(*bucket_, r.rows, sizeof(Wire));
    m.fetch<std::byte>(s.rank, from, schedule::rows_header, bytes - schedule::rows_header);
    m.read_rows(s.rank, r.rows, r.rows * bucket_->row, schedule::rows_header, bytes - schedule::rows_header);
    r.at = 0;
    r.values = m.at<Wire const>(s.rank, from + schedule::rows_header);
    r.indices = reinterpret_cast<std::byte const*>(r.values + r.rows * bucket_->row);
  }
  /// Of all messages that were read.
  void sum(std::span<schedule::Source const> sources, bool rounded, A* to) {
    long const count = bucket_->count, width = bucket_->row;
    for (long i = 0; i < count; ++i) to[i] = 0;
    auto const messages = std::span(messages_).first(sources.size());
    for (;;) {
      long row = count;
      for (ReceivedRows const& m : messages) row = std::min(row, m.next());
      if (row == count) return;
      sum_on_stack<N, A>(
          sources, width, rounded,
          [&](std::size_t k, auto visit) {
            ReceivedRows const& m = messages[k];
            visit(m.next() == row ? m.values + m.at * width : none_.data());
          },
          [&](long first, long n, A const* v) {
            for (long i = 0; i < n; ++i) to[row * width + first + i] = static_cast<A>(static_cast<Wire>(v[i]));
          });
      for (ReceivedRows& m : messages) m.at += m.next() == row;
    }
  }

 private:
  /// A message, and how far its rows have been added.
  struct ReceivedRows {
    long rows = 0, at = 0;
    Wire const* values = nullptr;
    std::byte const* indices = nullptr;
    long next() const {
      std::uint32_t row = ~0u;
      if (at < rows) std::memcpy(&row, indices + at * schedule::row_index, sizeof row);
      return at < rows ? long{row} : std::numeric_limits<long>::max();
    }
  };

  schedule::Bucket const* bucket_;
  std::vector<ReceivedRows> messages_;
  std::vector<Wire> none_;
};

}  // namespace cleave::backend::host
