// schedule/offsets.hpp - where the tensors of an exchange lie in a rank's memory, and how many bytes their elements have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "group.hpp"
#include "program.hpp"
#include "transfer.hpp"

namespace cleave::schedule {

/// The bytes of so many elements of a tensor; of one whose length is counted only the header, which is all that is
/// known before the run.
constexpr long bytes(Storage in, long elements, Format const& f) {
  switch (in) {
    case Storage::Buffer:
    case Storage::Wire:
    case Storage::Factors:
    case Storage::Copies:
    case Storage::OwnWeights:
      return elements * f.data;
    case Storage::OwnGradient:
      return elements * kept_bytes(f);
    case Storage::Statistic:
    case Storage::BatchSum:
      return elements * f.batch_sum;
    case Storage::Message:
      return f.encoding.bytes(elements);
    case Storage::Rows:
      return rows_header;
    case Storage::Squares:
    case Storage::Norm:
      return elements * norm_word;
    default:
      return elements * f.sum;
  }
}

/// Offsets in bytes, which are the same on every rank; what it points at must outlive it. For the tensors of a bucket
/// it is given the bucket and the ranks that sum it.
struct Offsets {
  Program const* program = nullptr;
  LayoutView const* layout = nullptr;
  int bucket = -1;
  RankGroup group{};
  int turn = 0;    // of Squares: norms use two places in turn
  int digits = 0;  // of a norm that is a sum of digits: the words of one
  int round = 0;   // of a pipeline, whose rounds have slots for their values

  constexpr long operator()(Location l) const {
    Format const& f = program->format;
    auto const of_gradients = [&](long first, int each) {
      return first + (l.index * layout->gradient.count + layout->gradient.of(program->bucket, bucket)) * each;
    };
    switch (l.in) {
      case Storage::Buffer:
      case Storage::Statistic:
        return layout->buffer_in(*program, l.index, round);
      case Storage::BatchSum:
        return layout->batch_sums + l.index * program->most_sum_leaf * f.batch_sum;
      case Storage::Gradient:
        return of_gradients(layout->gradients, f.sum);
      case Storage::Wire:
        return of_gradients(layout->wire, f.data);
      case Storage::Message:
        return layout->encoded[bucket] + piece_begin(f.encoding, program->bucket[bucket].count, l.index, group.size);
      case Storage::Residual:
        if (l.index == 0) return layout->left[bucket];
        return layout->left_of_sum[bucket] -
               op::part_begin(program->bucket[bucket].count, group.mine, group.size) * f.sum;
      case Storage::Rows:
        return layout->encoded[bucket] + l.index * layout->rows_apart[bucket];
      case Storage::Factors:
        return layout->encoded[bucket];
      case Storage::Weights:
        return layout->weights + (program->bucket[bucket].offset + program->bucket[bucket].shift) * f.sum;
      case Storage::Copies:
        return layout->copies + layout->copy.of(program->bucket, bucket) * f.data;
      case Storage::OwnWeights:
        return layout->own_weights + layout->part[bucket] * f.data;
      case Storage::OwnGradient:
        return layout->own_gradients + (l.index * layout->own_gradients_apart + layout->part[bucket] -
                                        op::part_begin(program->bucket[bucket].count, group.mine, group.size)) *
                                           kept_bytes(f);
      case Storage::Squares:
        return layout->norm + (digits > 0 ? norm_digits + turn * digits : turn) * norm_word;
      case Storage::Norm:
        return layout->norm + (digits > 0 ? norm_digits + 2 * digits : norm_of_ways) * norm_word;
    }
    return 0;
  }
  /// Of the first of these elements; of a message its beginning.
  constexpr long operator()(Location l, Strided at) const {
    bool const message = l.in == Storage::Message || is_counted(l.in);
    return (*this)(l) + (message ? 0 : bytes(l.in, at.begin, program->format));
  }
};

}  // namespace cleave::schedule
