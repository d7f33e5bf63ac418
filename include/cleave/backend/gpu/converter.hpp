// backend/gpu/converter.hpp - values between placements on the model axis, as kernels that pack what each rank needs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../host/convert.hpp"
#include "kernel.hpp"
#include "move.hpp"

namespace cleave::backend::gpu {

/// One rank's side of a conversion; the same as host::Converter's, put on its stream. Whoever calls stands events
/// before the first phase, between phases and after the last.
template <class T, class Machine> class Converter {
 public:
  Converter(host::Member& m, Queue<Machine> const& q, host::Value const& v, long from, long to)
      : m_(m), q_(q), v_(v), from_(from), to_(to), ways_(m.size(host::Axis::Model)) {}

  static int phases(op::Verb verb) { return verb == op::Verb::AllReduce ? 2 : 1; }
  void put(op::Verb verb, bool from_rows, bool to_rows, int phase) {
    int const mine = m_.way();
    switch (verb) {
      case op::Verb::Slice:
        if (to_rows)
          return copy(target(), source(mine) + first_row(mine) * v_.features, 1, rows_of(mine) * v_.features, 0, 0);
        return copy(target(), source(mine) + mine * part(), v_.rows, part(), part(), v_.features);
      case op::Verb::AllGather:
        for (int w = 0; w < ways_; ++w) {
          count(w, from_rows ? rows_of(w) * v_.features : v_.rows * part());
          if (from_rows) {
            copy(target() + first_row(w) * v_.features, source(w), 1, rows_of(w) * v_.features, 0, 0);
          } else {
            copy(target() + w * part(), source(w), v_.rows, part(), v_.features, part());
          }
        }
        return;
      case op::Verb::ReduceScatter: {
        long const lines = to_rows ? rows_of(mine) : v_.rows, width = to_rows ? v_.features : part();
        for (int w = 0; w < ways_; ++w) count(w, lines * width);
        return sum(target(), to_rows ? first_row(mine) * v_.features : mine * part(), lines, width, width, v_.features);
      }
      case op::Verb::AllReduce:
        return all_reduce(phase);
      default:
        for (int w = 0; w < ways_; ++w) exchange(w, to_rows);
    }
  }

 private:
  long part() const { return v_.features / ways_; }
  long rows_of(int w) const { return v_.row[static_cast<std::size_t>(w) + 1] - v_.row[static_cast<std::size_t>(w)]; }
  long first_row(int w) const { return v_.row[static_cast<std::size_t>(w)]; }
  T const* source(int w) const { return m_.at<T const>(m_.peer(host::Axis::Model, w), from_); }
  T* target() const { return m_.at<T>(m_.rank, to_); }
  void count(int w, long n) { m_.read_from(m_.peer(host::Axis::Model, w), n, sizeof(T)); }

  void copy(T* to, T const* from, long lines, long width, long to_apart, long from_apart) {
    copy_lines(q_, to, from, lines, width, to_apart, from_apart);
  }
  void sum(T* to, long at, long lines, long width, long to_apart, long from_apart) {
    if (lines * width == 0) return;
    typename SumLines<T>::Args args{to, lines, width, to_apart, from_apart, ways_, {}};
    if (ways_ > most_sources)
      throw Error("a sum over " + std::to_string(ways_) + " ways on a device: at most " + std::to_string(most_sources));
    for (int w = 0; w < ways_; ++w) args.from[w] = source(w) + at;
    q_.template launch<SumLines<T>>(blocks_each(lines * width), args);
  }
  void all_reduce(int phase) {
    long const n = v_.rows * v_.features;
    int const mine = m_.way();
    if (phase == 0) {
      long const begin = op::part_begin(n, mine, ways_), size = op::part_size(n, mine, ways_);
      for (int w = 0; w < ways_; ++w) count(w, size);
      return sum(target() + begin, begin, 1, size, 0, 0);
    }
    for (int w = 0; w < ways_; ++w) {
      if (w == mine) continue;
      long const at = op::part_begin(n, w, ways_), size = op::part_size(n, w, ways_);
      count(w, size);
      copy(target() + at, m_.at<T const>(m_.peer(host::Axis::Model, w), to_) + at, 1, size, 0, 0);
    }
  }
  /// From rows to features or back: what both of us hold a part of.
  void exchange(int w, bool to_rows) {
    int const mine = m_.way();
    long const lines = to_rows ? rows_of(mine) : rows_of(w);
    count(w, lines * part());
    if (to_rows) {
      copy(target() + w * part(), source(w) + first_row(mine) * part(), lines, part(), v_.features, part());
    } else {
      copy(target() + first_row(w) * part(), source(w) + mine * part(), lines, part(), part(), v_.features);
    }
  }

  host::Member& m_;
  Queue<Machine> const& q_;
  host::Value const& v_;
  long from_, to_;
  int ways_;
};

}  // namespace cleave::backend::gpu
