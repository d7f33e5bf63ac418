// backend/host/gradients/bucket.hpp - one bucket of gradients on a rank: the rounds of its list, from sums to new weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/exchange.hpp"
#include "../../../schedule/optimizer_parts.hpp"
#include "../execution/functions.hpp"
#include "factors.hpp"
#include "norm.hpp"
#include "rows.hpp"

namespace cleave::backend::host {

/// What a bucket is told of its rank; all of it outlives the bucket.
template <class N> struct BucketContext {
  schedule::Program const* program = nullptr;
  Functions<N> const* functions = nullptr;
  Kernels<N, Host> const* kernels = nullptr;
  Member* m = nullptr;
  schedule::Share const* share = nullptr;
  schedule::LayoutView const* layout = nullptr;
};

/// A round may run when the ranks that it reads have ended the round before. The last one updates the weights: of all
/// accumulation rounds, or, where each is summed by itself, of the last.
template <class N> class BucketSum {
 public:
  using T = N;
  using A = tensor::accumulate_t<T>;
  static constexpr bool narrow = sizeof(T) < sizeof(A);
  using Wire = std::conditional_t<narrow, T, A>;  // an element as it is sent

  /// Of the step that starts it. Sums in the format of the data under Ordered are rounded one by one: N ranks and one
  /// rank agree.
  BucketSum(BucketContext<T> const& of, int step)
      : of_(of),
        step_(step),
        bucket_(&of.program->bucket[of.program->step[step].node]),
        transfers_(*of.m,
                   {of.program, of.layout, of.program->step[step].node,
                    schedule::group_over(bucket_->over, of.share->ranks, of.m->rank)},
                   narrow && of.program->format.ordered),
        rows_(*bucket_, 0) {
    std::size_t most_sources = 0;
    for (int a = 0; a < (of.share->sums_rounds ? of.share->rounds : 1); ++a) {
      schedule::TransferList& list = of_accumulation_.emplace_back().list;
      schedule::exchange(*of.program, step, *of.share, of.m->rank, a, list);
      for (int r = 0; r < list.rounds(); ++r) {
        of_accumulation_.back().peers.push_back(list.peers(r, of.m->rank));
        list.each(r, [&](auto const&, auto sources) { most_sources = std::max(most_sources, sources.size()); });
      }
    }
    if (bucket_->row == 0) return;
    of.m->sparse.resize(of.m->received.size());
    rows_ = RowSums<T>(*bucket_, most_sources);
  }

  schedule::Bucket const& bucket() const { return *bucket_; }
  int step() const { return step_; }
  schedule::RankGroup const& group() const { return transfers_.offsets().group; }
  /// A sum starts, of this accumulation round or of all.
  void begin(int accumulation) { accumulation_ = of_.share->sums_rounds ? accumulation : 0; }
  /// 0 if no other rank has a part of the sum.
  int rounds() const { return list().rounds(); }
  /// The round that updates weights. The last; if weights are whole and their optimizer is in parts, the others read
  /// what it has made in one more. If the sum goes on in the next accumulation round there is none.
  int update_round() const {
    if (accumulation_ + 1 < static_cast<int>(of_accumulation_.size())) return rounds();
    return rounds() - (parts().in_parts() && !parts().weights_in_turn() ? 2 : 1);
  }
  schedule::OptimizerParts parts() const { return {of_.program, &of_.share->ranks}; }
  std::vector<int> const& peers(int round) const { return current().peers[static_cast<std::size_t>(round)]; }

  /// `stepping`: for the one that updates weights.
  void run(int round, Stepping<T> const* stepping = nullptr) {
    list().each(round, [&](schedule::Write const& w, std::span<schedule::Source const> from) {
      using enum schedule::Opcode;
      switch (w.what) {
        case Copy:
          return transfers_.copy(w, from[0]);
        case Reduce:
          return bucket_->row > 0 ? sum_rows(w, from) : transfers_.sum(w, from);
        case Encode:
          return encode(w, from);
        case Decode:
          return decode(w, from);
        case Apply:
          return apply(w, from[0], *stepping);
        case Clear:
          return transfers_.clear(w);
        case Call:
          return call(w, from);
      }
    });
  }
  bool keeps() const {
    return schedule::keeps_gradients(of_.program->format, of_.share->ranks, of_.program->waits_for_norm,
                                     of_.program->rounds);
  }
  /// The gradients whose complete sum this rank has before the update: all, or its part.
  schedule::Strided summed_here() const {
    schedule::RankGroup const& g = group();
    if (rounds() == 0 || !parts().in_parts()) return {0, 1, bucket_->count, 0};
    long const begin = op::part_begin(bucket_->count, g.mine, g.size);
    return {begin, 1, op::part_begin(bucket_->count, g.mine + 1, g.size) - begin, 0};
  }
  /// Adds the squares of `count` gradients, from its element `first` on: before the update, if that reads no other
  /// rank.
  void add_squares(long first, long count, ExactSquares<A>& to) const {
    transfers_.elements(summed_in(), {first, 1, count, 0}, [&](auto const* g) {
      if constexpr (is_gradient<decltype(g)>) to.add(g, count);
    });
  }

 private:
  struct OfAccumulation {
    schedule::TransferList list;
    std::vector<std::vector<int>> peers;  // of each round
  };
  OfAccumulation const& current() const { return of_accumulation_[static_cast<std::size_t>(accumulation_)]; }
  schedule::TransferList const& list() const { return current().list; }
  template <class Pointer>
  static constexpr bool is_gradient = std::is_same_v<Pointer, Wire const*> || std::is_same_v<Pointer, A const*>;
  /// What the weights are updated by.
  schedule::Location summed_in() const {
    schedule::Location in{schedule::Storage::Gradient};
    if (rounds() > 0) list().each(update_round(), [&](auto const&, auto from) { in = from[0].in; });
    return in;
  }
  template <class E> E* own(schedule::Location in, schedule::Strided at) const {
    return transfers_.template address<E>(of_.m->rank, in, at);
  }
  /// Of the first source and, if there are two, of what the message before has left.
  void encode(schedule::Write const& w, std::span<schedule::Source const> from) {
    A* const g = own<A>(from[0].in, from[0].at);
    std::byte* const out = own<std::byte>(w.to, w.at);
    if (schedule::is_counted(w.to.in)) return encode_rows<Wire>(*bucket_, g, out);
    of_.functions->encode(w.at.size(), g, from.size() > 1 ? own<A>(from[1].in, from[1].at) : nullptr, out);
  }
  void decode(schedule::Write const& w, std::span<schedule::Source const> from) {
    A* const to = own<A>(w.to, w.at);
    for (long i = 0; i < w.at.size(); ++i) to[i] = 0;
    for (schedule::Source const& s : from) {
      transfers_.fetch(s);
      of_.functions->add(w.at.size(), transfers_.template address<std::byte>(s), to);
    }
  }
  void sum_rows(schedule::Write const& w, std::span<schedule::Source const> from) {
    for (std::size_t k = 0; k < from.size(); ++k)
      rows_.read(*of_.m, k, from[k], transfers_.offsets()(from[k].in, from[k].at));
    rows_.sum(from, transfers_.rounded(), own<A>(w.to, w.at));
  }
  void call(schedule::Write const& w, std::span<schedule::Source const> from) {
    Member const& m = *of_.m;
    A* const levels = m.at<A>(m.rank, of_.layout->factor_levels);
    Host::Context const context{m.at<std::byte>(m.rank, of_.layout->workspace)};
    FactorSums<T>{*of_.program, *bucket_, of_.kernels, context, own<A>(w.to, w.at), levels}.sum(transfers_, from);
  }
  void apply(schedule::Write const& w, schedule::Source const& from, Stepping<T> const& stepping) {
    transfers_.fetch(from);
    Stepping<T> own = stepping;
    own.shift = parts().shifts(of_.program->step[step_].node, from.at.begin);
    transfers_.elements(from, [&](auto const* g) {
      if constexpr (is_gradient<decltype(g)>) own.step(bucket_->offset + from.at.begin, w.at.size(), g);
    });
  }

  BucketContext<T> of_;
  int step_;
  schedule::Bucket const* bucket_;
  std::vector<OfAccumulation> of_accumulation_;  // one; or of each round, where each is summed by itself
  int accumulation_ = 0;
  Transfers<T> transfers_;
  RowSums<T> rows_;
};

}  // namespace cleave::backend::host
