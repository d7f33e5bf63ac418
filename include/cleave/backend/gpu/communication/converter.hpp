// backend/gpu/communication/converter.hpp - values between placements on the model axis, as kernels that pack what each rank needs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "../../../op/verb.hpp"
#include "../../host/communication/member.hpp"
#include "../kernels/move.hpp"
#include "ranks.hpp"

namespace cleave::backend::gpu {

/// A value of one replica's ranks: (rows, features) when whole. Its parts are rows (a split batch) or features (any
/// other split, always of the first letter, so a part of a sample is contiguous).
struct Value {
  long features = 0;      // of a whole sample
  long rows = 0;          // of the replica
  std::vector<long> row;  // way w holds rows [row[w], row[w + 1]) if the batch is split
};

/// One rank's side of a conversion; the same as host::Converter's, enqueued on its stream. The caller synchronises the
/// ranks before the first phase, between phases and after the last.
template <class Ranks> class Converter {
 public:
  using One = typename Ranks::One;
  using T = typename Ranks::T;

  Converter(Ranks& ranks, One& one, Value const& v, long from, long to)
      : ranks_(ranks), one_(one), v_(v), from_(from), to_(to), ways_(one.m.size(host::Axis::Model)) {}

  static int phases(op::Verb verb) { return verb == op::Verb::AllReduce ? 2 : 1; }
  void put(op::Verb verb, bool from_rows, bool to_rows, int phase) {
    int const mine = one_.m.way();
    switch (verb) {
      case op::Verb::Slice:
        if (to_rows) return copy(0, mine, first_row(mine) * v_.features, 1, rows_of(mine) * v_.features, 0, 0);
        return copy(0, mine, mine * part(), v_.rows, part(), part(), v_.features);
      case op::Verb::AllGather:
        for (int w = 0; w < ways_; ++w) {
          if (from_rows) {
            copy(first_row(w) * v_.features, w, 0, 1, rows_of(w) * v_.features, 0, 0);
          } else {
            copy(w * part(), w, 0, v_.rows, part(), v_.features, part());
          }
        }
        return;
      case op::Verb::ReduceScatter:
        if (to_rows) return sum(0, first_row(mine) * v_.features, 1, rows_of(mine) * v_.features, 0, 0);
        return sum(0, mine * part(), v_.rows, part(), part(), v_.features);
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
  int peer(int w) const { return one_.m.peer(host::Axis::Model, w); }
  T* target(long at) const { return ranks_.template in_arena<T>(one_, to_, at); }

  void copy(long to, int w, long at, long lines, long width, long to_apart, long from_apart, bool result = false) {
    auto const from = ranks_.template reach<T>(one_, peer(w), result ? to_ : from_, at, lines, width, from_apart);
    if (!ranks_.planning()) copy_lines(one_.compute, target(to), from.at, lines, width, to_apart, from.apart);
  }
  void sum(long to, long at, long lines, long width, long to_apart, long from_apart) {
    typename SumLines<T>::Args args{target(to), lines, width, to_apart, ways_, {}, {}};
    if (ways_ > most_sources) {
      throw Error("a sum over " + std::to_string(ways_) + " ways on a device: at most " + std::to_string(most_sources));
    }
    for (int w = 0; w < ways_; ++w) {
      auto const from = ranks_.template reach<T>(one_, peer(w), from_, at, lines, width, from_apart);
      args.from[w] = from.at;
      args.apart[w] = from.apart;
    }
    if (ranks_.planning() || lines * width == 0) return;
    one_.compute.template launch<SumLines<T>>(blocks_each(lines * width), args);
  }
  void all_reduce(int phase) {
    long const n = v_.rows * v_.features;
    for (int w = 0; w < ways_; ++w) {
      long const begin = op::part_begin(n, w, ways_), size = op::part_size(n, w, ways_);
      if (phase == 0 && w == one_.m.way()) sum(begin, begin, 1, size, size, size);
      if (phase == 1 && w != one_.m.way()) copy(begin, w, begin, 1, size, size, size, true);
    }
  }
  /// From rows to features or back: the part that both ranks hold.
  void exchange(int w, bool to_rows) {
    int const mine = one_.m.way();
    if (to_rows) return copy(w * part(), w, first_row(mine) * part(), rows_of(mine), part(), v_.features, part());
    copy(first_row(w) * part(), w, mine * part(), rows_of(w), part(), part(), v_.features);
  }

  Ranks& ranks_;
  One& one_;
  Value const& v_;
  long from_, to_;
  int ways_;
};

}  // namespace cleave::backend::gpu
