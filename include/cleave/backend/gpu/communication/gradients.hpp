// backend/gpu/communication/gradients.hpp - the sums of gradients over ranks, on a stream of their own, and the updates of weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "exchange.hpp"

namespace cleave::backend::gpu {

/// Traffic and the order of sums are those of host::Gradients. N is the format of the data.
template <class N, class Machine, class Link> class DeviceGradients {
 public:
  using Ranks = gpu::Ranks<N, Machine, Link>;
  using One = typename Ranks::One;
  using T = N;
  using A = tensor::accumulate_t<T>;
  static constexpr bool narrow = sizeof(T) < sizeof(A);
  /// The parts of a bucket's sum.
  struct Parts {
    std::vector<void const*> from;
    bool in_data = false;  // in the format of the data, else in that of sums
  };

  DeviceGradients(Ranks& ranks, Control<A> const* control)
      : ranks_(ranks),
        control_(control),
        exchange_(ranks.functions.exchange(ranks)),
        whole_(ranks.functions.whole_exchange ? ranks.functions.whole_exchange(ranks) : nullptr),
        found_(ranks.all.size() * static_cast<std::size_t>(ranks.program.buckets)) {}

  /// Starts the exchange of a bucket's gradients.
  void reduce(int b, int step, int round) {
    host::Axis const axis = host::axis_of(bucket(b));
    if (alone(b)) return;
    auto& exchange = exchange_of(b);
    if constexpr (narrow) {
      if (exchange.in_data()) {
        ranks_.open_all(&One::compute, host::Did::Line, step, round);
        for (One& one : ranks_.all) {
          if (one.here && !ranks_.rehearsing()) pack(one, bucket(b));
        }
        ranks_.close_all(&One::compute);
      }
    }
    ranks_.meet(axis, &One::compute, &One::sums);
    ranks_.open_all(&One::sums, host::Did::Reduce, step, round);
    exchange.reduce(b, axis);
    ranks_.close_all(&One::sums);
  }
  /// If a rank sums with no other, all buckets are one: one kernel updates the arena.
  void update(int b, int step, int round) {
    host::Axis const axis = host::axis_of(bucket(b));
    if (alone(b)) {
      if (b > 0 && alone(b - 1)) return;  // included in the one below
      int end = b;
      while (end + 1 < ranks_.program.buckets && alone(end + 1)) ++end;
      long const count = bucket(end).offset + bucket(end).count - bucket(b).offset;
      ranks_.open_all(&One::compute, host::Did::Line, step, round);
      for (One& one : ranks_.all) {
        if (one.here) put_update(one, bucket(b).offset, count, own_sum(one, b));
      }
      ranks_.close_all(&One::compute);
      return;
    }
    bool const clips = ranks_.program.clips;
    if (!clips) ranks_.meet(axis, &One::sums, &One::compute);
    ranks_.open_all(&One::compute, host::Did::Line, step, round);
    for (One& one : ranks_.all) {
      if (!clips) find(one, b);
      if (one.here) put_update(one, bucket(b).offset, bucket(b).count, found(one, b));
    }
    ranks_.close_all(&One::compute);
  }

  Ranks& ranks() { return ranks_; }
  schedule::Bucket const& bucket(int b) const { return ranks_.program.bucket[b]; }
  /// Whether its gradients are summed with no other rank's.
  bool alone(int b) const { return ranks_.at(0).m.size(host::axis_of(bucket(b))) == 1; }
  /// Each rank asks once in a step where its sums are: this counts what it reads.
  void find(One& one, int b) {
    auto& exchange = exchange_of(b);
    found(one, b) = {exchange.sums(one, b, host::axis_of(bucket(b))), exchange.in_data()};
  }
  Parts& found(One const& one, int b) {
    return found_[static_cast<std::size_t>(one.m.rank * ranks_.program.buckets + b)];
  }
  Parts own_sum(One const& one, int b) const {
    return {{ranks_.template in_arena<A>(one, ranks_.layout.gradients) + bucket(b).offset}, false};
  }
  /// put(Sources) in the format of these parts.
  template <class Put> static void with_sources(Parts const& of, Put put) {
    if constexpr (narrow) {
      if (of.in_data) return put(sources<T>(of));
    }
    put(sources<A>(of));
  }
  A* scale(One const& one) const {
    return reinterpret_cast<A*>(ranks_.template in_arena<double>(one, ranks_.layout.norm, schedule::norm_scale));
  }

 private:
  template <class G> static Sources<G> sources(Parts const& of) {
    if (of.from.size() > most_sources) throw Error(too_many("parts", most_sources));
    Sources<G> g{static_cast<int>(of.from.size()), {}};
    for (std::size_t i = 0; i < of.from.size(); ++i) g.from[i] = static_cast<G const*>(of.from[i]);
    return g;
  }
  DeviceExchange<T, Machine, Link>& exchange_of(int b) { return bucket(b).whole && whole_ ? *whole_ : *exchange_; }
  /// Converts a bucket's branches to the format of the data.
  void pack(One& one, schedule::Bucket const& of) {
    for (int branch = 0; branch < ranks_.layout.branches; ++branch) {
      long const at = branch * ranks_.program.weight_elements + of.offset;
      copy_lines(one.compute, ranks_.template in_arena<T>(one, ranks_.layout.wire, at),
                 ranks_.template in_arena<A const>(one, ranks_.layout.gradients, at), 1, of.count, 0, 0);
    }
  }
  void put_update(One& one, long offset, long count, Parts const& parts) {
    if (ranks_.rehearsing()) return;
    auto const& l = ranks_.layout;
    auto const at = [&](long region) { return ranks_.template in_arena<A>(one, region, offset); };
    WeightRange<T> const range{at(l.weights),
                               narrow ? ranks_.template in_arena<T>(one, l.copies, offset) : nullptr,
                               at(l.moments),
                               at(l.outbox),
                               ranks_.program.weight_elements,
                               count,
                               control_,
                               ranks_.program.clips ? scale(one) : nullptr};
    with_sources(parts, [&](auto const& g) {
      if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(g)>::format, A>) {
        ranks_.functions.update_sums(one.compute, range, g);
      } else {
        ranks_.functions.update_data(one.compute, range, g);
      }
    });
  }

  Ranks& ranks_;
  Control<A> const* control_;
  std::unique_ptr<DeviceExchange<T, Machine, Link>> exchange_, whole_;
  std::vector<Parts> found_;  // of each rank and bucket
};

}  // namespace cleave::backend::gpu
