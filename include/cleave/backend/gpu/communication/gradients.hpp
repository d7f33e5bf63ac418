// backend/gpu/communication/gradients.hpp - the sums of gradients over ranks, on a stream of their own, and the updates of weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "exchanges.hpp"

namespace cleave::backend::gpu {

/// Sums run on a stream that overlaps with the backward pass. N is the format of the data.
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

  DeviceGradients(Exchanges<T, Machine, Link>& exchanges, Control<A> const* control)
      : exchanges_(exchanges),
        ranks_(exchanges.ranks()),
        control_(control),
        found_(ranks_.all.size() * static_cast<std::size_t>(ranks_.program.buckets)),
        start_(static_cast<std::size_t>(ranks_.program.buckets)) {
    for (int s = 0; s < ranks_.program.steps; ++s) {
      schedule::Step const& step = ranks_.program.step[s];
      if (step.what == schedule::Do::Start) start_[static_cast<std::size_t>(step.node)] = s;
    }
  }

  /// Starts the exchange of a bucket's gradients.
  void reduce(int b, int step, int round) {
    if (alone(b)) return;
    RankLists const& lists = exchanges_.of(step, ranks_.share.sums_rounds ? round : 0);
    if (lists.packs) {
      ranks_.open_all(&One::compute, host::Did::Line, step, round);
      exchanges_.run(lists, 0, &One::compute, b);
      ranks_.close_all(&One::compute);
    }
    meet(b, lists, lists.packs, &One::compute, &One::sums);
    ranks_.open_all(&One::sums, host::Did::Reduce, step, round);
    for (int r = lists.packs; r < lists.last; ++r) {
      if (r > lists.packs) meet(b, lists, r, &One::sums, &One::sums);
      exchanges_.run(lists, r, &One::sums, b);
    }
    ranks_.close_all(&One::sums);
  }
  /// If a rank sums with no other, and all gradients are there, all buckets are one: one kernel updates the arena.
  void update(int b, int step, int round) {
    bool const in_turn = ranks_.layout.gradient.in_turn();
    if (alone(b)) {
      if (!in_turn && b > 0 && alone(b - 1)) return;  // included in the one below
      int end = b;
      while (!in_turn && end + 1 < ranks_.program.buckets && alone(end + 1)) ++end;
      long const count = bucket(end).offset + bucket(end).count - bucket(b).offset;
      ranks_.open_all(&One::compute, host::Did::Line, step, round);
      for (One& one : ranks_.all) {
        if (one.here) put_update(one, bucket(b).offset, count, own_sum(one, b));
      }
      ranks_.close_all(&One::compute);
      return;
    }
    bool const waits_for_norm = ranks_.program.waits_for_norm, in_parts = ranks_.parts().in_parts();
    RankLists const& lists = last_of(b);
    if (!waits_for_norm) meet(b, lists, lists.last, &One::sums, &One::compute);
    ranks_.open_all(&One::compute, host::Did::Line, step, round);
    for (One& one : ranks_.all) {
      if (in_parts) {
        Summed const own = summed_here(one, b);
        if (own.count > 0)
          put_update(one, bucket(b).offset + own.begin, own.count, own.in, ranks_.parts().shifts(b, own.begin));
        continue;
      }
      if (!waits_for_norm) find(one, b);
      if (one.here) put_update(one, bucket(b).offset, bucket(b).count, found(one, b));
    }
    ranks_.close_all(&One::compute);
    for (int r = lists.last + 1; in_parts && r < lists.rounds; ++r) {
      meet(b, lists, r, &One::compute, &One::compute);
      exchanges_.run(lists, r, &One::compute, b);
    }
    // All have read the gradients, whose place the next bucket but one takes.
    if (in_turn && !ranks_.keeps_gradients()) ranks_.meet(bucket(b).over);
  }

  /// A rank's part of a bucket's sum is elsewhere. The next bucket but one takes the place of the gradients when all
  /// ranks have read them.
  void keep(int b) {
    if (ranks_.keeps_gradients()) ranks_.meet(bucket(b).over, &One::sums, &One::compute);
  }

  Exchanges<T, Machine, Link>& exchanges() { return exchanges_; }
  Ranks& ranks() { return ranks_; }
  schedule::Bucket const& bucket(int b) const { return ranks_.program.bucket[b]; }
  /// Whether its gradients are summed with no other rank's.
  bool alone(int b) const { return ranks_.share.parts(bucket(b).over) == 1; }
  /// Once in a step each rank runs the last rounds, but for the update, and finds the parts of the sum.
  void find(One& one, int b) {
    RankLists const& lists = last_of(b);
    schedule::Offsets const at = exchanges_.offsets(one, b);
    Parts& parts = found(one, b);
    parts.from.assign(static_cast<std::size_t>(at.group.size), nullptr);
    for (int r = lists.last; r < lists.rounds; ++r) {
      exchanges_.put(one, lists, r, &One::compute, b, [&](schedule::Write const& w, schedule::Source const& s) {
        long const part = ((w.at.begin + 1) * at.group.size - 1) / bucket(b).count;
        parts.from[static_cast<std::size_t>(part)] = ranks_.template in_arena<std::byte>(ranks_.at(s.rank), at(s.in));
        parts.in_data = s.in.in == schedule::Storage::Wire;
      });
    }
    join(parts.from);
  }
  Parts& found(One const& one, int b) {
    return found_[static_cast<std::size_t>(one.m.rank * ranks_.program.buckets + b)];
  }
  Parts own_sum(One const& one, int b) const {
    return {{ranks_.template in_arena<A>(one, ranks_.layout.gradients) +
             ranks_.layout.gradient.of(ranks_.program.bucket, b)},
            false};
  }
  /// Of a bucket the elements [begin, begin + count), whose complete sum a rank has before the update: all, or its
  /// part.
  struct Summed {
    Parts in;
    long begin = 0, count = 0;
  };
  Summed summed_here(One& one, int b) {
    if (alone(b)) return {own_sum(one, b), 0, bucket(b).count};
    if (!ranks_.parts().in_parts()) return {found(one, b), 0, bucket(b).count};
    Summed own;
    RankLists const& lists = last_of(b);
    schedule::Offsets const at = exchanges_.offsets(one, b);
    exchanges_.put(one, lists, lists.last, &One::compute, b, [&](schedule::Write const&, schedule::Source const& s) {
      own.in.from.assign(1, ranks_.template in_arena<std::byte>(one, at(s.in, s.at)));
      bool const kept = s.in.in == schedule::Storage::OwnGradient && !ranks_.program.format.keeps_sums;
      own.in.in_data = s.in.in == schedule::Storage::Wire || kept;
      own.begin = s.at.begin, own.count = s.at.size();
    });
    return own;
  }
  /// put(Sources) in the format of these parts.
  template <class Put> static void with_sources(Parts const& of, Put put) {
    if constexpr (narrow) {
      if (of.in_data) return put(sources<T>(of));
    }
    put(sources<A>(of));
  }
  /// The sum of a way's squares.
  double* squares(One const& one) const { return ranks_.template in_arena<double>(one, ranks_.layout.norm); }
  A* scale(One const& one) const { return reinterpret_cast<A*>(squares(one) + schedule::norm_scale); }

 private:
  /// The exchange of a bucket's gradients that ends with the update.
  RankLists const& last_of(int b) const {
    return exchanges_.of(start_[static_cast<std::size_t>(b)], ranks_.share.sums_rounds ? ranks_.program.rounds - 1 : 0);
  }
  template <class G> static Sources<G> sources(Parts const& of) {
    if (of.from.size() > most_sources) throw Error(too_many("parts", most_sources));
    Sources<G> g{static_cast<int>(of.from.size()), {}};
    for (std::size_t i = 0; i < of.from.size(); ++i) g.from[i] = static_cast<G const*>(of.from[i]);
    return g;
  }
  /// Before a round each rank waits for those that it reads in it. That is enough: exchange_check.hpp.
  void meet(int b, RankLists const& lists, int round, typename Ranks::Which from, typename Ranks::Which to) {
    ranks_.meet(bucket(b).over, from, to, [&](int rank, int peer) { return lists.reads(round, rank, peer); });
  }
  /// If all parts that are not empty are in one tensor, they are one.
  static void join(std::vector<void const*>& parts) {
    void const* in = nullptr;
    for (void const* p : parts) {
      if (in && p && p != in) return;
      if (p) in = p;
    }
    parts.assign(1, in);
  }
  void put_update(One& one, long offset, long count, Parts const& parts, schedule::PartShifts shift = {}) {
    auto const& l = ranks_.layout;
    auto const at = [&](long region, long by) { return ranks_.template in_arena<A>(one, region, offset + by); };
    long const copies = ranks_.parts().weights_in_turn() ? l.own_weights : l.copies;
    WeightRange<T> const range{at(l.weights, shift.weights),
                               narrow ? ranks_.template in_arena<T>(one, copies, offset + shift.copies) : nullptr,
                               at(l.moments, shift.moments),
                               at(l.outbox, 0),
                               ranks_.parts().apart(0),
                               count,
                               control_,
                               ranks_.program.waits_for_norm ? scale(one) : nullptr,
                               offset,
                               ranks_.program.groups};
    with_sources(parts, [&](auto const& g) {
      if constexpr (std::is_same_v<typename std::remove_cvref_t<decltype(g)>::format, A>) {
        ranks_.functions.update_sums(one.compute, range, g);
      } else {
        ranks_.functions.update_data(one.compute, range, g);
      }
    });
  }

  Exchanges<T, Machine, Link>& exchanges_;
  Ranks& ranks_;
  Control<A> const* control_;
  std::vector<Parts> found_;  // of each rank and bucket
  std::vector<int> start_;    // the step that starts a bucket's exchange
};

}  // namespace cleave::backend::gpu
