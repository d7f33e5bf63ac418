// backend/gpu/communication/exchanges.hpp - runs the lists of exchanges on a device: a round of all local ranks at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../../schedule/offsets.hpp"
#include "rank_lists.hpp"
#include "ranks.hpp"

namespace cleave::backend::gpu {

inline std::string too_many(char const* what, int most) {
  return "the sum over these ranks has more than " + std::to_string(most) + " " + what +
         " on a device; run fewer ranks, or say fewer MicroBatches";
}

/// Events replace the waits of threads. One sum is one kernel, of up to `most_sources` tensors. N is the format of the
/// data.
template <class N, class Machine, class Link> class Exchanges {
 public:
  using Ranks = gpu::Ranks<N, Machine, Link>;
  using One = typename Ranks::One;
  using Which = typename Ranks::Which;
  using T = N;
  using A = tensor::accumulate_t<T>;
  using S = tensor::batch_sum_t<T>;
  using Wire = typename DeviceFunctions<T, Machine, Link>::Wire;
  using Sources = std::span<schedule::Source const>;
  static constexpr bool narrow = sizeof(T) < sizeof(A);

  explicit Exchanges(Ranks& ranks) : ranks_(ranks), of_(index(ranks.program.steps)) {
    schedule::Program in_place = ranks.program;  // the norm, too, reads the parts of a sum where they are
    in_place.waits_for_norm = ranks.program.waits_for_norm && ranks.keeps_gradients();
    for (int step = 0; step < in_place.steps; ++step) {
      bool const starts = in_place.step[step].what == schedule::Do::Start;
      bool const once = schedule::once_a_step(in_place.step[step].what, ranks.share.sums_rounds);
      for (int round = 0; round < (once ? 1 : in_place.rounds); ++round) {
        RankLists& lists = of_[index(step, round)];
        lists = rank_lists(in_place, step, ranks.share, round);
        if (Link::remote && starts && !ranks.parts().in_parts()) lists.gather_before_apply();
        make_room(lists, starts ? &One::sums : &One::compute);
        if (starts && ranks.parts().in_parts()) make_room(lists, &One::compute);  // the others' new weights
      }
    }
    for (Area& a : areas_) {
      if (a.bytes > 0) a.at = ranks.machine.allocate(a.bytes);
    }
  }

  Ranks& ranks() { return ranks_; }
  RankLists const& of(int step, int accumulation = 0) const { return of_[index(step, accumulation)]; }

  /// A conversion, or a sum over the batch that the model reads: on the compute streams.
  void convert(int step, int accumulation) {
    schedule::AxisSet const over = exchanged_over(ranks_.program, ranks_.program.step[step]);
    RankLists const& lists = of(step, accumulation);
    if (lists.meets) ranks_.meet(over);
    ranks_.open_all(&One::compute, host::Did::Line, step, accumulation);
    for (int round = 0; round < lists.rounds; ++round) {
      if (round > 0 && lists.meets) ranks_.meet(over);
      run(lists, round, &One::compute);
    }
    ranks_.close_all(&One::compute);
    if (lists.meets) ranks_.meet(over);  // peers have read what this rank will overwrite
  }

  /// The weights of a bucket, of which each rank has a part. A part changes after all gradients of a step, which depend
  /// on what was read.
  void gather(int step, int bucket) {
    RankLists const& lists = of(step);
    if (lists.rounds == 0) return;
    ranks_.meet(ranks_.program.bucket[bucket].over);
    ranks_.open_all(&One::compute, host::Did::Line, step, 0);
    run(lists, 0, &One::compute, bucket);
    ranks_.close_all(&One::compute);
  }
  /// A round of all ranks here, on their streams `on`. What comes from other processes comes first, in one group.
  void run(RankLists const& lists, int round, Which on, int bucket = -1) {
    if constexpr (Link::remote) bring(lists, round, on, bucket);
    for (One& one : ranks_.all) put(one, lists, round, on, bucket, [](auto const&, auto const&) {});
  }
  /// A rank's part of a round. Calls apply(Write, Source) for what updates weights.
  template <class Apply> void put(One& one, RankLists const& lists, int round, Which on, int bucket, Apply apply) {
    bool taken = false;
    lists.of[static_cast<std::size_t>(one.m.rank)].each(round, [&](schedule::Write const& w, Sources from) {
      for (schedule::Source const& s : from) one.m.read_message(s.rank, s.at.size(), bytes(s));
      if (!one.here) return;
      Reading const r{one, one.*on, offsets(one, bucket), bucket};
      switch (w.what) {
        case schedule::Opcode::Copy:
          if (!taken) copy(r, w, from[0]);
          taken = false;
          return;
        case schedule::Opcode::Reduce:
          taken = reduce(r, w, from);
          return;
        case schedule::Opcode::Encode:
          return ranks_.functions.encode(r.q, own<A>(r, from[0].in, from[0].at),
                                         from.size() > 1 ? own<A>(r, from[1].in, from[1].at) : nullptr,
                                         own<std::byte>(r, w.to, w.at), w.at.size(),
                                         ranks_.template in_arena<std::byte>(one, ranks_.layout.coding));
        case schedule::Opcode::Decode:
          return decode(r, w, from);
        case schedule::Opcode::Apply:
          return apply(w, from[0]);
        case schedule::Opcode::Clear:
          return ranks_.functions.clear(r.q, own<T>(r, w.to, w.at), lines(w.at, w.at));
        case schedule::Opcode::Call:
          return;  // factors are sent whole
      }
    });
  }
  schedule::Offsets offsets(One const& one, int bucket) const {
    schedule::Offsets at{&ranks_.program, &ranks_.layout, bucket};
    at.digits = ranks_.norm_digits();
    if (bucket >= 0)
      at.group = schedule::group_over(ranks_.program.bucket[bucket].over, ranks_.share.ranks, one.m.rank);
    return at;
  }

 private:
  /// Who reads, on which stream, and where tensors lie.
  struct Reading {
    One& one;
    Queue<Machine> const& q;
    schedule::Offsets at;
    int bucket;
  };
  /// Where a source can be read, and how it lies there.
  struct Readable {
    std::byte const* bytes;
    schedule::Strided at;
  };
  static schedule::Strided packed(schedule::Strided at) {
    at.apart = at.width;
    at.block_apart = at.size_of_block();
    return at;
  }
  static CopyExtents lines(schedule::Strided const& to, schedule::Strided const& from) {
    return {to.count, to.width, to.apart, from.apart, to.blocks, to.block_apart, from.block_apart};
  }
  /// Received and packed lines of a round on a stream. The next round on it overwrites them, after this one has read
  /// them.
  struct Area {
    std::byte* at = nullptr;
    long bytes = 0;
  };

  long bytes(schedule::Source const& s) const { return schedule::bytes(s.in.in, s.at.size(), ranks_.program.format); }
  std::size_t index(int step, int accumulation = 0) const {
    return static_cast<std::size_t>(step * ranks_.program.rounds + accumulation);
  }
  Area& area(Which on) { return areas_[on == &One::sums]; }
  /// Calls visit(source, its reader, whether it is sent from here) for what goes to another process or comes from it.
  template <class Visit> void each_transfer(RankLists const& lists, int round, Visit visit) {
    for (One& reader : ranks_.all) {
      lists.of[static_cast<std::size_t>(reader.m.rank)].each(round, [&](schedule::Write const&, Sources from) {
        for (schedule::Source const& s : from) {
          if (reader.here != ranks_.at(s.rank).here) visit(s, reader, !reader.here);
        }
      });
    }
  }
  void make_room(RankLists const& lists, Which on) {
    for (int round = 0; Link::remote && round < lists.rounds; ++round) {
      long staged = 0;
      each_transfer(lists, round, [&](schedule::Source const& s, One const&, bool sends) {
        if (!sends || !s.at.dense()) staged += schedule::aligned(bytes(s));
      });
      if (staged > area(on).bytes) area(on).bytes = staged;
    }
  }
  /// Sends lines with gaps packed. All groups are on one stream: they have the same order on all ranks.
  void bring(RankLists const& lists, int round, Which on, int bucket) {
    std::vector<Transfer> group;
    std::byte* free = area(on).at;
    arrived_.clear();
    next_ = 0;
    One& own = ranks_.first_here();
    each_transfer(lists, round, [&](schedule::Source const& s, One const& reader, bool sends) {
      std::byte* at = sends ? own.arena + offsets(own, bucket)(s.in, s.at) : nullptr;
      if (!sends || !s.at.dense()) {
        std::byte* const from = std::exchange(at, std::exchange(free, free + schedule::aligned(bytes(s))));
        if (sends)
          ranks_.functions.values.copy(own.*on, reinterpret_cast<T*>(at), reinterpret_cast<T const*>(from),
                                       lines(packed(s.at), s.at));
      }
      if (!sends) arrived_.push_back(at);
      group.push_back({sends ? reader.m.rank : s.rank, sends, at, bytes(s)});
    });
    if (group.empty()) return;
    if (on != &One::sums) ranks_.follow(own, on, &One::sums);
    ranks_.link.put(ranks_.machine, own.sums.stream, group);
    if (on != &One::sums) ranks_.follow(own, &One::sums, on);
  }

  template <class E> E* own(Reading const& r, schedule::Location in, schedule::Strided at) const {
    return ranks_.template in_arena<E>(r.one, r.at(in, at));
  }
  Readable place(Reading const& r, schedule::Source const& s) {
    if constexpr (Link::remote) {
      if (!ranks_.at(s.rank).here) return {arrived_[next_++], packed(s.at)};
    }
    return {ranks_.at(s.rank).arena + r.at(s.in, s.at), s.at};
  }

  void copy(Reading const& r, schedule::Write const& w, schedule::Source const& s) {
    auto const& f = ranks_.functions;
    switch (w.to.in) {
      case schedule::Storage::Buffer:
        return copy(f.values, r, w, s);
      case schedule::Storage::Statistic:
        return copy(f.statistics, r, w, s);
      case schedule::Storage::Message:
      case schedule::Storage::Weights:
      case schedule::Storage::Copies:
      case schedule::Storage::OwnGradient:
        return r.q.machine->copy(r.q.stream, own<std::byte>(r, w.to, w.at), place(r, s).bytes, bytes(s));
      default:
        if constexpr (narrow) {
          if (s.in.in != schedule::Storage::Wire)
            return copy_lines(r.q, own<T>(r, w.to, w.at), reinterpret_cast<A const*>(place(r, s).bytes),
                              {1, w.at.size()});
        }
        return copy(f.gradients, r, w, s);
    }
  }
  template <class E>
  void copy(Movers<E, Queue<Machine>> const& by, Reading const& r, schedule::Write const& w,
            schedule::Source const& s) {
    Readable const from = place(r, s);
    by.copy(r.q, own<E>(r, w.to, w.at), reinterpret_cast<E const*>(from.bytes), lines(w.at, from.at));
  }
  /// Whether the sum has also been written as it is sent on.
  bool reduce(Reading const& r, schedule::Write const& w, Sources from) {
    auto const& f = ranks_.functions;
    if (w.to.in == schedule::Storage::Buffer) return sum(f.values, r, w, from);
    if (w.to.in == schedule::Storage::Statistic) return sum(f.statistics, r, w, from);
    if (w.to.in == schedule::Storage::Norm) return norm(r, w, from);
    if (w.to.in == schedule::Storage::OwnGradient && ranks_.program.format.keeps_sums) return keep(r, w, from);
    if (!f.take || ranks_.program.bucket[r.bucket].whole) return sum(f.gradients, r, w, from);
    schedule::Location const sent{narrow ? schedule::Storage::Wire : schedule::Storage::Gradient};
    f.take(r.q, {own<A>(r, w.to, w.at), own<Wire>(r, sent, w.at),
                 reinterpret_cast<Wire const*>(place(r, from[1]).bytes), w.at.size()});
    return narrow;
  }
  /// To what is kept of the sum, in its format, all ranks' gradients are added, in that of the data.
  bool keep(Reading const& r, schedule::Write const& w, Sources from) {
    if (from.size() > most_sources) throw Error(too_many("branches", most_sources));
    KeptSum<T> sum{own<A>(r, w.to, w.at), w.at.size(), 0, false, {}};
    for (schedule::Source const& s : from) {
      if (s.in.in == schedule::Storage::OwnGradient) {
        sum.goes_on = true;
      } else {
        sum.from[sum.sources++] = reinterpret_cast<T const*>(place(r, s).bytes);
      }
    }
    ranks_.functions.keep(r.q, sum);
    return false;
  }
  template <class E>
  bool sum(Movers<E, Queue<Machine>> const& by, Reading const& r, schedule::Write const& w, Sources from) {
    Summands<E> all{own<E>(r, w.to, w.at), w.at.count, w.at.width, w.at.apart, w.at.blocks, w.at.block_apart};
    int depth = 0;
    for (schedule::Source const& s : from) {
      if (all.sources == most_sources) throw Error(too_many("branches", most_sources));
      if (++depth > most_depth) throw Error(too_many("levels", most_depth));
      depth -= s.merges;
      Readable const p = place(r, s);
      all.from[all.sources] = reinterpret_cast<E const*>(p.bytes);
      all.apart[all.sources] = p.at.apart;
      all.block[all.sources] = p.at.block_apart;
      all.merges[all.sources++] = static_cast<signed char>(s.merges);
    }
    by.sum(r.q, all);
    return false;
  }
  /// Of one number each the scale; of digits their sum over the ranks of a way.
  bool norm(Reading const& r, schedule::Write const& w, Sources from) {
    if (from.size() > most_sources) throw Error(too_many("ranks", most_sources));
    double const* squares[most_sources] = {};
    int n = 0;
    for (schedule::Source const& s : from) squares[n++] = reinterpret_cast<double const*>(place(r, s).bytes);
    if (int const words = ranks_.norm_digits(); words > 0) {
      SquaresOfRanks sum{own<double>(r, w.to, w.at), words, n, {}};
      std::copy_n(squares, n, sum.from);
      ranks_.functions.add_squares(r.q, sum);
    } else {
      WaySquares<A> all{own<A>(r, w.to, w.at), ranks_.loss_scale(r.one), n, false, {}};
      std::copy_n(squares, n, all.squares);
      ranks_.functions.gradient_scale(r.q, all);
    }
    return false;
  }
  void decode(Reading const& r, schedule::Write const& w, Sources from) {
    Messages all;
    for (schedule::Source const& s : from) {
      if (all.count == most_sources) throw Error(too_many("messages", most_sources));
      all.of[all.count++] = place(r, s).bytes;
    }
    ranks_.functions.decode(r.q, own<A>(r, w.to, w.at), w.at.size(), all);
  }

  Ranks& ranks_;
  std::vector<RankLists> of_;        // of each step, by rounds of accumulation
  Area areas_[2];                    // of the streams `compute` and `sums`
  std::vector<std::byte*> arrived_;  // in this round, in the order in which they are read
  std::size_t next_ = 0;
};

}  // namespace cleave::backend::gpu
