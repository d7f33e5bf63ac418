// backend/gpu/communication/encoded.hpp - compressed all-reduce of a bucket on a device, in the order of host/gradients/encoded.hpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "exchange.hpp"

namespace cleave::backend::gpu {

/// Each rank writes a message for each part, sums the messages of its part, and writes that sum as a message, which the
/// others read. If a sum of messages is longer than a message (top k), every rank reads all messages instead.
template <class T, class Machine, class Link> class Encoded : public DeviceExchange<T, Machine, Link> {
  using Base = DeviceExchange<T, Machine, Link>;
  using Base::bucket, Base::ranks_;

 public:
  using typename Base::One, typename Base::Ranks;
  using A = tensor::accumulate_t<T>;

  explicit Encoded(Ranks& ranks) : Base(ranks), encoding_(ranks.program.format.encoding) {}

  bool in_data() const override { return false; }
  /// Enqueued on the reduction stream after the bucket's gradients.
  void reduce(int b, host::Axis axis) override {
    auto const& l = ranks_.layout;
    for (One& one : ranks_.all) {
      if (!one.here || ranks_.rehearsing()) continue;
      for (int p = 0; p < pieces(b); ++p) encode(one, b, p, left(one, l.left[b], begin(b, p)));
    }
    ranks_.meet(axis, &One::sums, &One::sums);
    ranks_.phase(&One::sums, [&](One& one) {
      int const p = encoding_.resums ? one.m.index(axis) : 0;
      Messages all;
      for (int i = 0; i < one.m.size(axis); ++i) {
        if (all.count == most_sources) {
          throw Error(too_many("messages", most_sources));
        }
        all.of[all.count++] = read(one, one.m.peer(axis, i), b, p);
      }
      if (ranks_.planning()) return;
      decode(one.sums, own(one, b, begin(b, p)), count(b, p), all);
      if (encoding_.resums) encode(one, b, p, left(one, l.left_of_sum[b], 0));
    });
    if (!Link::remote || !encoding_.resums) return;
    ranks_.phase(&One::sums, [&](One& one) {  // the sums of the other parts replace their messages
      for (int i = 0; i < one.m.size(axis); ++i) {
        int const peer = one.m.peer(axis, i), p = i;
        if (peer == one.m.rank || count(b, p) == 0) continue;
        std::byte const* const from = read(one, peer, b, p);
        if (!ranks_.planning())
          one.sums.machine->copy(one.sums.stream, message(one, b, p), from, encoding_.bytes(count(b, p)));
      }
    });
  }
  /// The result replaces the gradients.
  std::vector<void const*> sums(One& one, int b, host::Axis axis) override {
    for (int p = 0; encoding_.resums && p < pieces(b); ++p) {
      std::byte const* const from = Link::remote ? message(one, b, p) : read(one, one.m.peer(axis, p), b, p);
      if (one.here && !ranks_.rehearsing()) decode(one.compute, own(one, b, begin(b, p)), count(b, p), {1, {from}});
    }
    return {own(one, b)};
  }

 private:
  int pieces(int b) const {
    host::Axis const axis = bucket(b).over == schedule::over_all ? host::Axis::World : host::Axis::Data;
    return schedule::pieces(encoding_, ranks_.all.front().m.size(axis));
  }
  long begin(int b, int p) const { return op::part_begin(bucket(b).count, p, pieces(b)); }
  long count(int b, int p) const { return op::part_size(bucket(b).count, p, pieces(b)); }
  A* own(One const& one, int b, long at = 0) const {
    return ranks_.template in_arena<A>(one, ranks_.layout.gradients, bucket(b).offset + at);
  }
  A* left(One const& one, long region, long at) const {
    return encoding_.feedback ? ranks_.template in_arena<A>(one, region, at) : nullptr;
  }
  long place(int b, int p) const {
    return ranks_.layout.encoded[b] + schedule::piece_begin(encoding_, bucket(b).count, p, pieces(b));
  }
  std::byte* message(One const& one, int b, int p) const {
    return ranks_.template in_arena<std::byte>(one, place(b, p));
  }
  std::byte const* read(One& one, int peer, int b, int p) {
    return ranks_.message(one, peer, place(b, p), count(b, p), encoding_.bytes(count(b, p)));
  }
  void encode(One& one, int b, int p, A* left) {
    if (count(b, p) == 0) return;
    ranks_.functions.encode(one.sums, own(one, b, begin(b, p)), left, message(one, b, p), count(b, p),
                            ranks_.template in_arena<std::byte>(one, ranks_.layout.coding));
  }
  void decode(Queue<Machine> const& q, A* to, long n, Messages const& from) const {
    if (n > 0) ranks_.functions.decode(q, to, n, from);
  }

  schedule::Encoding const encoding_;
};

}  // namespace cleave::backend::gpu
