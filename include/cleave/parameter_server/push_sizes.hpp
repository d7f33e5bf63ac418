// parameter_server/push_sizes.hpp - how many elements and bytes a replica pushes to each shard.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../schedule/rows.hpp"
#include "serving.hpp"

namespace cleave::session {

/// How much is pushed to each shard. A message is each layer's part of the shard, one after the other.
class PushSizes {
 public:
  explicit PushSizes(Serving const& of)
      : of_(of), encoded_(bool(of.program().format.encoding)), width_(of.program().format.pushed) {
    for (int b = 0; b < of_.program().buckets; ++b) any_rows_ = any_rows_ || is_rows(b);
  }
  bool is_rows(int b) const { return of_.program().format.pushed_rows && of_.program().bucket[b].row > 0; }
  bool any_rows() const { return any_rows_; }
  bool encoded() const { return encoded_; }
  /// The elements as they are.
  bool plain() const { return !encoded_ && !any_rows_; }

  /// visit(way, bucket, where its part of this shard begins among the way's weights), in the order of the message.
  template <class Visit> void each(int shard, Visit visit) const {
    int const n = of_.shards_of_way;
    int const first = of_.whole() ? 0 : of_.way(shard), past = of_.whole() ? of_.ways() : first + 1;
    for (int way = first; way < past; ++way) {
      for (int b = 0; b < of_.program().buckets; ++b) {
        visit(way, b, schedule::in_shard(of_.program().bucket[b], shard % n, n, of_.elements()));
      }
    }
  }
  schedule::Cut cut(int b, schedule::Run r) const { return schedule::cut(of_.program().bucket[b], r); }
  /// The size of a message without its sparse rows, which are counted separately.
  long elements(int shard) const {
    long sum = 0;
    each(shard, [&](int, int b, schedule::Run r) { sum += is_rows(b) ? cut(b, r).head + cut(b, r).tail : r.count; });
    return sum;
  }
  long bytes(int shard) const {
    long sum = 0;
    each(shard, [&](int, int b, schedule::Run r) {
      schedule::Cut const c = is_rows(b) ? cut(b, r) : schedule::Cut{r.count, 0, 0};
      sum += encoded_ && !is_rows(b) ? of_.program().format.encoding.bytes(r.count)
                                     : (c.head + c.tail) * width_ + (c.rows > 0 ? schedule::rows_header : 0);
    });
    return sum;
  }
  long most_bytes(int shard) const {
    long sum = bytes(shard);
    each(shard, [&](int, int b, schedule::Run r) {
      if (is_rows(b)) sum += cut(b, r).rows * schedule::row_bytes(of_.program().bucket[b], width_);
    });
    return sum;
  }

 protected:
  Serving const& of_;

 private:
  bool encoded_, any_rows_ = false;
  int width_;
};

}  // namespace cleave::session
