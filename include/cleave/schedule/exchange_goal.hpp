// schedule/exchange_goal.hpp - what the exchange of a step has to do, said without rounds; and whether it does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "exchange.hpp"
#include "exchange_check.hpp"

namespace cleave::schedule {

inline constexpr int most_summands = 64;

/// Of ExchangeCheck, for a step of a program. Summands are micro-batches, or ways where a value is summed over these;
/// of ranks that have other positions of them each has summands of its own.
class StepGoal {
 public:
  constexpr StepGoal(Program const& program, int step, Share const& share, int accumulation)
      : p_(program), step_(program.step[step]), share_(share), accumulation_(accumulation) {
    bool const node = step_.what != Do::Start && step_.what != Do::Gather && step_.what != Do::Norm;
    if (node && step_.node >= 0) node_ = &program.node[step_.node];
    bool const bucket = step_.what == Do::Start;
    sums_batch_ = bucket || step_.what == Do::Sum || step_.what == Do::SumBack;
    over_ = step_.what == Do::Norm ? norm_over(program, share.ranks)
            : node && !node_       ? AxisSet{}
                                   : exchanged_over(program, step_);
    for (int i = 0; sums_batch_ && i < share.parts(over_) && i < most_checked_ranks; ++i) {
      if (!program.format.ordered) {
        Range const rounds = share.rounds_of_sum(accumulation);
        for (int r = rounds.begin; r < rounds.end; ++r) own_[i][0] |= of(share.of(over_, i, r), i);
        continue;
      }
      TreeSum const sum = branches(share, over_, i, accumulation);
      for (int b = 0; b < sum.depth; ++b)
        own_[i][b] = of({sum.stack[b].begin, sum.stack[b].begin + sum.stack[b].size}, i);
    }
  }

  constexpr Content input(int rank, Location in, long element) const {
    if (step_.what == Do::Norm) {
      if (in.in != Storage::Squares) return {};
      return of_parts() ? Content{name(rank, way(rank) * words() + element), part_of_way(rank)}
                        : Content{name(rank, 0), own(rank)};
    }
    if (step_.what == Do::Gather)
      return in.in == Storage::OwnWeights ? Content{name(rank, part_begin(rank) + element), 1} : Content{};
    if (!sums_batch_ && pads())
      return in == converted(p_, step_) ? row_value(!reads_rows(), rank, element, reads_rows() ? 1 : own(rank))
                                        : Content{};
    if (!sums_batch_)
      return in == converted(p_, step_) ? value(shardings_of(*node_, step_).from, rank, element, own(rank)) : Content{};
    if (in.in == Storage::Residual) return {name(rank, element), 0};
    if (in.in == Storage::OwnGradient && share_.sums_rounds) {
      std::uint64_t const before = kept(in.index, accumulation_ - 1);
      return before == 0 ? Content{} : Content{name(rank, element), before};
    }
    if (factors() > 0) return factor(rank, in, element);
    bool const is_sum = in.in == (step_.what == Do::Start ? Storage::Gradient : Storage::BatchSum);
    return is_sum ? Content{name(rank, element), own_[index(rank)][in.index]} : Content{};
  }
  constexpr bool takes_part(int rank) const { return runs(p_, step_, share_.ranks, rank); }
  /// Of the sum of a round but the last, what is kept of it.
  constexpr int tensors() const { return goes_on() ? kept_sums(share_, over_, p_.format.ordered) : 1; }
  constexpr Location where(int, int tensor) const {
    if (goes_on()) return {Storage::OwnGradient, tensor};
    bool const copies = optimizer_in_parts(p_.format, share_.ranks) && p_.format.data < p_.format.sum;
    if (step_.what == Do::Gather) return {Storage::Copies};
    if (step_.what == Do::Start) return {in_turn() ? Storage::OwnWeights : copies ? Storage::Copies : Storage::Weights};
    if (step_.what == Do::Norm) return {Storage::Norm};
    return {sums_batch_ ? Storage::Statistic : Storage::Buffer, step_.dx};
  }
  constexpr Run results(int rank, int tensor) const {
    if (!goes_on()) return {0, count(rank)};
    std::uint64_t const after = kept(tensor, accumulation_);
    if (after == 0 || after == kept(tensor, accumulation_ - 1)) return {0, 0};
    return {part_begin(rank), part_begin(rank, 1) - part_begin(rank)};
  }
  constexpr Content result(int rank, int tensor, long element) const {
    return goes_on() ? Content{name(rank, element), kept(tensor, accumulation_)} : content(rank, element);
  }
  constexpr int leaves() const { return sums_batch_ && p_.format.ordered ? share_.micro_batches : 0; }
  constexpr bool too_large() const {
    return share_.micro_batches * trees() > most_summands || share_.ranks.ways() > most_summands ||
           (step_.what == Do::Norm && share_.ranks.world() > most_summands);
  }

 private:
  static constexpr long far = 1L << 40;
  constexpr long count(int rank) const {
    if (step_.what == Do::Gather) return p_.bucket[step_.node].count;
    if (step_.what == Do::Start)
      return in_turn() ? part_begin(rank, 1) - part_begin(rank) : p_.bucket[step_.node].count;
    if (step_.what == Do::Norm) return of_parts() ? long{share_.ranks.ways()} * words() : 1;
    if (sums_batch_) return node_->local.y.size();
    if (pads()) {
      ImageRows const rows = image_rows(rank);
      return rows.planes * (reads_rows() ? long{rows.padded.rows} * rows.padded_width() : long{rows.rows} * rows.width);
    }
    return held(shardings_of(*node_, step_).to, rank).held();
  }
  constexpr Content content(int rank, long element) const {
    if (step_.what == Do::Norm)
      return {name(rank, element), bits(0, of_parts() ? ranks_of_way() : share_.parts(over_))};
    if (step_.what == Do::Gather) return {name(rank, element), 1};
    long const first = step_.what == Do::Start && in_turn() ? part_begin(rank) : 0;
    if (sums_batch_) return {name(rank, first + element), bits(0, share_.micro_batches * trees()), encoded()};
    if (pads()) return reads_rows() ? row_value(true, rank, element, 1) : row_gradient(rank, element);
    return value(shardings_of(*node_, step_).to, rank, element, bits(0, share_.parts(over_)));
  }
  constexpr int index(int rank) const { return share_.ranks.index(rank, over_); }
  /// Summands of each way's digits are the ranks that have parts of its gradients.
  constexpr bool of_parts() const { return sums_parts_of_norm(p_, p_.format, share_.ranks); }
  constexpr int words() const { return squares_words(p_.format.sum); }
  constexpr int way(int rank) const { return share_.ranks.index(rank, p_.mesh.of_replica()); }
  constexpr int ranks_of_way() const { return share_.ranks.world() / share_.ranks.ways() / other_replicas(); }
  constexpr int other_replicas() const {
    return optimizer_in_parts(p_.format, share_.ranks) ? 1 : share_.ranks.replicas();
  }
  constexpr std::uint64_t part_of_way(int rank) const {
    int const replica = other_replicas() > 1 ? 0 : share_.ranks.index(rank, place::over_data);
    int const at = replica * share_.ranks.stages + share_.ranks.stage(rank);
    return bits(at, at + 1);
  }
  constexpr bool in_turn() const { return weights_in_turn(p_.format, share_.ranks); }
  /// Of a rank's part of a bucket, or of the next rank's.
  constexpr long part_begin(int rank, int next = 0) const {
    return op::part_begin(p_.bucket[step_.node].count, index(rank) + next, share_.ranks.group_size(over_));
  }
  /// Whether the sum of a bucket's gradients goes on in the next accumulation round.
  constexpr bool goes_on() const {
    return step_.what == Do::Start && share_.sums_rounds && accumulation_ + 1 < share_.rounds;
  }
  /// The summands of a sum that is kept after a round; none: there is no such sum.
  constexpr std::uint64_t kept(int which, int after) const {
    if (after < 0) return 0;
    std::uint64_t out = 0;
    int const m = share_.micro_batches;
    if (!p_.format.ordered) {
      for (int t = 0; t < trees(); ++t) out |= bits(t * m, t * m + share_.of_sum(after).end);
      return out;
    }
    int const each = most_kept(share_, true), tree = which / each * m;
    TreeSum const sums = kept_after(share_, after);
    if (which % each >= sums.depth) return 0;
    Branch const of = sums.stack[which % each];
    return bits(tree + of.begin, tree + (of.begin + of.size < m ? of.begin + of.size : m));
  }
  constexpr std::uint64_t own(int rank) const { return bits(index(rank), index(rank) + 1); }
  /// The axes of a sum over the batch along which ranks have the same micro-batches, and the ranks along them.
  constexpr AxisSet apart() const { return share_.with_same(over_); }
  constexpr int trees() const { return sums_batch_ ? share_.parts(apart()) : 1; }
  /// Micro-batches of rank `index` of a sum over the batch.
  constexpr std::uint64_t of(Range r, int index) const {
    int const first = share_.ranks.index(share_.ranks.member(index, over_), apart()) * share_.micro_batches;
    return bits(first + r.begin, first + (r.end < share_.micro_batches ? r.end : share_.micro_batches));
  }
  /// Groups that do not meet have elements of their own.
  constexpr long name(int rank, long element) const {
    return element + share_.ranks.index(rank, share_.ranks.all() - over_) * far;
  }

  constexpr int factors() const { return step_.what == Do::Start ? p_.bucket[step_.node].factors : 0; }
  constexpr int encoded() const {
    if (step_.what != Do::Start || factors() > 0) return 0;
    Bucket const& b = p_.bucket[step_.node];
    return b.row > 0 ? 1 : !p_.format.encoding || b.whole || p_.served ? 0 : p_.format.encoding.resums ? 2 : 1;
  }
  constexpr Content factor(int rank, Location in, long element) const {
    int const node = p_.bucket[step_.node].node, x = p_.node[node].in0;
    bool const is_x = in == Location{Storage::Buffer, x < 0 ? p_.input_value : p_.again[x]};
    if (!is_x && !(in == Location{Storage::Buffer, p_.gradient[node]})) return {};
    long const each = p_.rows * (is_x ? p_.node[node].local.x : p_.node[node].local.y).size();
    int const at = share_.of(over_, index(rank), 0).begin + static_cast<int>(element / each);
    return {element % each + (is_x ? 0 : far), bits(at, at + 1)};
  }

  constexpr bool pads() const { return node_ && node_->padded.height > 0; }
  /// Forward; on the way back gradients of rows are summed.
  constexpr bool reads_rows() const { return step_.what == Do::Convert; }
  constexpr ImageRows image_rows(int rank) const { return {p_, *node_, share_, rank, accumulation_}; }
  /// Element of a rank's rows of images, padded or its part of them, as one of the whole images.
  constexpr Content row_value(bool padded, int rank, long element, std::uint64_t summands) const {
    ImageRows const rows = image_rows(rank);
    long const width = padded ? rows.padded_width() : rows.width, height = padded ? rows.padded.rows : rows.rows;
    long const row = element / width % height + (padded ? rows.first_read(index(rank)) : rows.has(index(rank)).begin);
    long const column = element % width - (padded ? rows.padded.columns : 0);
    if (row < 0 || row >= rows.padded.height || column < 0 || column >= rows.width) return zero;
    long const plane = element / width / height * rows.padded.height * rows.width;
    return {name(rank, plane + row * rows.width + column), summands};
  }
  constexpr Content row_gradient(int rank, long element) const {
    ImageRows const rows = image_rows(rank);
    int const row = rows.has(index(rank)).begin + static_cast<int>(element / rows.width % rows.rows);
    std::uint64_t readers = 0;
    for (int w = 0; w < share_.parts(over_); ++w) {
      Range const r = rows.reads(w);
      if (r.begin <= row && row < r.end) readers |= bits(w, w + 1);
    }
    return readers == 0 ? zero : row_value(false, rank, element, readers);
  }
  constexpr op::Verb verb() const { return verb_of(p_, step_); }
  constexpr Box held(place::Sharding const& s, int rank) const {
    return box_of(p_, *node_, s, share_, rank, accumulation_);
  }
  /// Element of a rank's tensor, as one of the whole value.
  constexpr Content value(place::Sharding const& s, int rank, long element, std::uint64_t summands) const {
    bool const to_all = verb() == op::Verb::AllReduce, sums = to_all || verb() == op::Verb::ReduceScatter;
    Box const box = held(s, rank);
    if (element % box.apart >= box.features) return {zero.element, to_all ? summands : zero.summands};
    long const row = box.row_at(element / box.apart), feature = box.feature + element % box.apart;
    return {name(rank, row * (node_->features / node_->lines) + feature), sums ? summands : 1};
  }

  Program const& p_;
  Step step_;
  Share const& share_;
  int accumulation_;
  ProgramNode const* node_ = nullptr;
  bool sums_batch_ = false;
  AxisSet over_;
  std::uint64_t own_[most_checked_ranks][most_branches]{};  // of each branch
};

/// The first fault of a step's exchange among all ranks, in one round of accumulation. In a constant: of a small
/// program, with a std::array of elements.
template <class Elements = std::vector<CheckedElement>>
constexpr ExchangeFault check_exchange(Program const& program, int step, Share const& share, int accumulation = 0) {
  StepGoal const goal(program, step, share, accumulation);
  if (goal.too_large()) return {"sums more than 64 summands: that is not checked"};
  auto const each = [&](int rank, auto& v) { exchange(program, step, share, rank, accumulation, v); };
  ExchangeCheck<decltype(each), StepGoal, Elements> check(share.ranks.world(), each, goal);
  Elements elements{};
  if constexpr (requires { elements.resize(1); }) elements.resize(static_cast<std::size_t>(check.size()));
  return check.run(elements);
}

}  // namespace cleave::schedule
