// backend/host/communication/convert.hpp - values between placements on the model axis, in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstring>

#include "all_reduce.hpp"

namespace cleave::backend::host {

/// A value of one replica's ranks: (rows, features) when whole. Its parts are rows (a split batch) or features (any
/// other split, always of the first letter, so a part of a sample is contiguous).
struct Value {
  long features = 0;      // of a whole sample
  long rows = 0;          // of the replica
  std::vector<long> row;  // way w holds rows [row[w], row[w + 1]) if the batch is split
};

template <class T> class Converter {
 public:
  using A = tensor::accumulate_t<T>;
  Converter(Member& m, int step, Value const& v, long from, long to)
      : m_(m), step_(step), v_(v), from_(from), to_(to), ways_(m.size(Axis::Model)) {}

  void run(op::Verb verb, bool from_rows, bool to_rows) {
    if (verb == op::Verb::Slice) return take(to_rows);
    if (verb == op::Verb::AllReduce && are_two(m_, Axis::Model)) {
      return all_reduce_of_two<T, T>(m_, Axis::Model, step_, false, from_, to_, v_.rows * v_.features);
    }
    m_.reach(step_, 1);
    m_.await(Axis::Model, step_, 1);
    switch (verb) {
      case op::Verb::AllGather:
        for (int w = 0; w < ways_; ++w) gather(w, from_rows);
        break;
      case op::Verb::ReduceScatter:
        reduce_scatter(to_rows);
        break;
      case op::Verb::AllReduce:
        all_reduce_whole();
        break;
      default:
        for (int w = 0; w < ways_; ++w) exchange(w, to_rows);
    }
    m_.reach(step_, 3);
    m_.await(Axis::Model, step_, 3);  // peers have read what this rank will overwrite
  }

 private:
  long part() const { return v_.features / ways_; }
  long rows_of(int w) const { return v_.row[static_cast<std::size_t>(w) + 1] - v_.row[static_cast<std::size_t>(w)]; }
  long first_row(int w) const { return v_.row[static_cast<std::size_t>(w)]; }
  T const* source(int w) const { return m_.at<T const>(m_.peer(Axis::Model, w), from_); }
  T* target() const { return m_.at<T>(m_.rank, to_); }
  void copy(T* to, T const* from, long n) const { std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T)); }
  void count(int w, long n) { m_.read_from(m_.peer(Axis::Model, w), n, sizeof(T)); }
  /// Copies from way w's tensor: `lines` runs of `width` elements, the first at `first`, `apart` from each other.
  void fetch(int w, long first, long lines, long width, long apart) {
    if (m_.world->here(m_.peer(Axis::Model, w))) return;
    if (width == apart) width *= lines, lines = 1;
    for (long r = 0; r < lines; ++r) m_.fetch<T>(m_.peer(Axis::Model, w), from_, first + r * apart, width);
  }

  void take(bool rows) {
    T const* const x = source(m_.way());
    if (rows) return copy(target(), x + first_row(m_.way()) * v_.features, rows_of(m_.way()) * v_.features);
    for (long r = 0; r < v_.rows; ++r) copy(target() + r * part(), x + r * v_.features + m_.way() * part(), part());
  }
  void gather(int w, bool rows) {
    count(w, rows ? rows_of(w) * v_.features : v_.rows * part());
    rows ? fetch(w, 0, rows_of(w), v_.features, v_.features) : fetch(w, 0, v_.rows, part(), part());
    if (rows) return copy(target() + first_row(w) * v_.features, source(w), rows_of(w) * v_.features);
    for (long r = 0; r < v_.rows; ++r) copy(target() + r * v_.features + w * part(), source(w) + r * part(), part());
  }
  void reduce_scatter(bool rows) {
    long const lines = rows ? rows_of(m_.way()) : v_.rows, width = rows ? v_.features : part();
    for (int w = 0; w < ways_; ++w) {
      count(w, lines * width);
      fetch(w, rows ? first_row(m_.way()) * v_.features : m_.way() * part(), lines, width, v_.features);
    }
    for (long r = 0; r < lines; ++r) {
      long const at = (rows ? first_row(m_.way()) + r : r) * v_.features + (rows ? 0 : m_.way() * part());
      sum(target() + r * width, at, width);
    }
  }
  void all_reduce_whole() {
    long const n = v_.rows * v_.features;
    int const mine = m_.way();
    long const begin = op::part_begin(n, mine, ways_);
    for (int w = 0; w < ways_; ++w) {
      count(w, op::part_size(n, mine, ways_));
      fetch(w, begin, 1, op::part_size(n, mine, ways_), 0);
    }
    sum(target() + begin, begin, op::part_size(n, mine, ways_));
    m_.reach(step_, 2);
    m_.await(Axis::Model, step_, 2);
    for (int w = 0; w < ways_; ++w) {
      if (w == mine) continue;
      long const at = op::part_begin(n, w, ways_), size = op::part_size(n, w, ways_);
      count(w, size);
      m_.fetch<T>(m_.peer(Axis::Model, w), to_, at, size);
      copy(target() + at, m_.at<T>(m_.peer(Axis::Model, w), to_) + at, size);
    }
  }
  /// From rows to features or back: the part that both ranks hold.
  void exchange(int w, bool to_rows) {
    int const mine = m_.way();
    long const lines = to_rows ? rows_of(mine) : rows_of(w);
    count(w, lines * part());
    to_rows ? fetch(w, first_row(mine) * part(), lines, part(), part())
            : fetch(w, mine * part(), lines, part(), v_.features);
    for (long r = 0; r < lines; ++r) {
      if (to_rows) {
        copy(target() + r * v_.features + w * part(), source(w) + (first_row(mine) + r) * part(), part());
      } else {
        copy(target() + (first_row(w) + r) * part(), source(w) + r * v_.features + mine * part(), part());
      }
    }
  }
  /// Sums in the order of the ways, in the accumulator's format.
  void sum(T* to, long at, long n) {
    constexpr long piece = 512;
    A total[piece];
    for (long first = 0; first < n; first += piece) {
      long const size = n - first < piece ? n - first : piece;
      for (int w = 0; w < ways_; ++w) {
        T const* const x = source(w) + at + first;
        if (w == 0) {
          for (long i = 0; i < size; ++i) total[i] = static_cast<A>(x[i]);
        } else {
          for (long i = 0; i < size; ++i) total[i] += static_cast<A>(x[i]);
        }
      }
      for (long i = 0; i < size; ++i) to[first + i] = static_cast<T>(total[i]);
    }
  }

  Member& m_;
  int step_;
  Value const& v_;
  long from_, to_;
  int ways_;
};

}  // namespace cleave::backend::host
