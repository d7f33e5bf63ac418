// backend/host/rank.hpp - one rank of a program: its arena, its actions, and passes over them. A step allocates nothing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstring>
#include <span>

#include "../../schedule/exchange.hpp"
#include "communication/all_reduce.hpp"
#include "communication/transfers.hpp"
#include "execution/arena.hpp"
#include "execution/functions.hpp"
#include "execution/prepare.hpp"
#include "execution/start.hpp"
#include "gradients/gradients.hpp"

namespace cleave::backend::host {

/// N is the format of the data. Layers and policies of the plan come as functions.
template <class N> class Rank : public Arena<N> {
 public:
  using T = N;
  using A = tensor::accumulate_t<T>;
  using S = tensor::batch_sum_t<T>;
  using Arena<N>::narrow, Arena<N>::weights, Arena<N>::moments, Arena<N>::states, Arena<N>::bytes;
  static constexpr std::size_t waits_of_a_meeting = 4;  // at most

  /// `layouts`: of each stage of a pipeline, or one. They and what they are of must outlive it.
  Rank(Executable<T> const& of, World& world, std::span<schedule::LayoutView const> layouts, int rank,
       std::uint64_t seed, schedule::Share share)
      : Arena<N>(of.program, layouts[static_cast<std::size_t>(share.ranks.stage(rank))]),
        functions_(*of.functions),
        rounds_(of.program.rounds),
        share_(share),
        base_(this->base()),
        layouts_(layouts) {
    std::memset(base_, 0, bytes());  // first touched by the thread that will use it
    world.arena(rank) = base_;
    m_.world = &world;
    m_.rank = rank;
    m_.received.assign(static_cast<std::size_t>(world.ranks().world()), 0);
    m_.received_bytes = m_.received;
    pass_.seed = seed;
    auto const prepare = [&] { return Prepare<T>(program_, of.kernels, m_, share_, layout_, base_, &pass_); };
    train_ = prepare().training();
    evaluate_ = prepare().evaluation();
    for (auto* all : {&train_, &evaluate_}) {
      for (auto& of_round : *all) list_values(of_round.actions, of_round.round);
    }
    passed_.resize(static_cast<std::size_t>(program_.steps));
    gradients_.prepare({&program_, of.functions, of.kernels, &m_, &share_, &layout_});
    stepping_.weights = weights();
    stepping_.copies = narrow ? at<T>(parts().weights_in_turn() ? layout_.own_weights : layout_.copies) : nullptr;
    stepping_.moments = moments();
    stepping_.apart = parts().apart(rank);
    stepping_.groups = program_.groups;
    stepping_.step_sums = functions_.step_sums;
    stepping_.step_data = functions_.step_data;
    start_states(program_, states());
    start_weights<A>(program_, seed, m_.way(),
                     [&](long first, long count, A const* values) { set_weights(first, count, values); });
  }
  Rank(Rank const&) = delete;
  Rank& operator=(Rank const&) = delete;

  /// Step numbers count from 0. `now.steps` counts from 1.
  void train(long step, Feed const& feed, optim::Now<A> const& now) {
    pass(step, true);
    stepping_.now = now;
    m_.timeline = timeline_.begin(step) ? &timeline_ : nullptr;
    for (auto& of_round : train_) {
      begin(of_round, feed, step, every);
      if (m_.timeline) {
        for (Action<T>& a : of_round.actions) run_noted(a);
      } else {
        for (Action<T>& a : of_round.actions) run(a);
      }
    }
    m_.timeline = nullptr;
  }
  /// Traces the next `steps` steps; allocates the memory for it, and for `more` additional spans of each step.
  void trace(int steps, std::size_t more = 0) {
    std::size_t each = gradients_.most_spans() + more;
    for (auto const& of_round : train_) {
      each += 1 + of_round.actions.size();
      for (Action<T> const& a : of_round.actions) each += may_wait(a.act) ? waits_of_a_meeting : 0;
    }
    timeline_ = Timeline(steps, each);
  }
  Timeline& timeline() { return timeline_; }
  Timeline const& timeline() const { return timeline_; }
  Seen evaluate(long batch, Feed const& feed, long valid) {
    pass(batch, false);
    Seen seen;
    for (auto& of_round : evaluate_) {
      begin(of_round, feed, batch, valid);
      for (Action<T>& a : of_round.actions) run(a);
      if (of_round.counts) count(valid, seen);
    }
    return seen;
  }

  /// Calls told(micro-batch, sum of its samples' losses) for those of the last step whose loss this rank tells.
  template <class Told> void each_loss(Told told) const {
    if (!has_loss() || !share_.tells(program_.node[program_.nodes - 1].batch_axes, m_.rank)) return;
    for (int r = 0; r < rounds_; ++r) {
      schedule::Range const of = told_in(r);
      for (int s = of.begin; s < of.end; ++s) told(s, at<A>(layout_.losses)[share_.before(m_.replica(), r, s)]);
    }
  }
  /// Seed of dropout.
  void set_seed(std::uint64_t seed) { pass_.seed = seed; }
  /// Random numbers of a step start at this micro-batch.
  void begin_at(int micro_batch) { share_.first = micro_batch; }
  Member const& member() const { return m_; }
  schedule::Share const& share() const { return share_; }
  template <class E> E* at(long offset) const { return Arena<N>::template at<E>(offset); }
  /// Those of the last round; of a pipeline, on a rank of the last stage.
  T const* output() const { return at<T>(layout_.buffer_in(program_, program_.value[program_.last], round_)); }
  /// From now on a step adds its gradient (weight_elements) to the push buffer instead of updating the weights by the
  /// plan's optimizer; with a local rate it also updates them by plain SGD.
  void keep_gradients(A own_rate = 0) {
    stepping_.kept = this->outbox();
    stepping_.own_rate = own_rate;
  }
  /// Takes these master weights [first, first + count), or of them what this rank has.
  void set_weights(long first, long count, A const* values) {
    parts().each_master(m_.rank, first, count, [&](long from, long many, long at) {
      std::copy_n(values + (from - first), many, weights() + at);
    });
    if (!narrow) return;
    parts().each_copy(m_.rank, first, count, [&](long from, long many, long at) {
      for (long i = 0; i < many; ++i) stepping_.copies[at + i] = static_cast<T>(values[from - first + i]);
    });
  }
  schedule::OptimizerParts parts() const { return {&program_, &m_.world->ranks()}; }
  /// Seconds spent waiting for gradients after the backward pass.
  double exposed() const { return gradients_.exposed(); }

 private:
  static constexpr long every = std::numeric_limits<long>::max();
  schedule::Range told_in(int round) const {
    return m_.slices(share_, program_.node[program_.nodes - 1].batch_axes, round);
  }
  bool has_loss() const { return share_.ranks.stage(m_.rank) == share_.ranks.stages - 1; }
  static bool may_wait(Act a) { return waits(a) || a == Act::Recycle || a == Act::Pull; }
  static bool waits(Act a) { return a == Act::Convert || a == Act::Gather || a == Act::Sum || a == Act::Norm; }
  Context context() const { return {at<std::byte>(layout_.workspace)}; }

  void pass(long step, bool training) {
    pass_.step = static_cast<std::uint32_t>(step);
    pass_.training = training;
    pass_.first = long{share_.first} * program_.rows;
  }
  void begin(RoundOfActions<Action<T>> const& of, Feed const& feed, long step, long valid) {
    ++m_.round;  // the flags of conversions distinguish rounds
    round_ = of.round;
    for (Action<T> const& a : of.actions) {  // before the input, which may be sent too, is written
      if (a.act != Act::Recycle) break;
      recycle(a);
    }
    long const since = m_.timeline ? Timeline::now() : 0;
    if (of.reads_input) load_input(feed, step);
    if (of.reads_answers) load_answers(feed, step, valid);
    if (!m_.timeline) return;
    timeline_.begin_round(round_);
    timeline_.note(Did::Load, Lane::Compute, -1, since);
  }
  void load_input(Feed const& feed, long step) {
    schedule::Range const mine = m_.slices(share_, program_.input_axes, round_);
    long const size = program_.input.size(), rows = program_.rows, before = share_.first * rows;
    long const place = layout_.buffer_in(program_, program_.input_value, round_);
    if (program_.tokens) {
      auto* const tokens = at<float>(place);
      feed.pixels(feed.self, step, before + mine.begin * rows, static_cast<int>(mine.size() * rows), tokens);
      return make_tokens(tokens, mine.size() * rows * size);
    }
    T* x = at<T>(place);
    if constexpr (std::is_same_v<T, float>) {
      feed.pixels(feed.self, step, before + mine.begin * rows, static_cast<int>(mine.size() * rows), x);
    } else {
      auto* one = at<float>(layout_.workspace);
      for (long r = mine.begin * rows; r < mine.end * rows; ++r, x += size) {
        feed.pixels(feed.self, step, before + r, 1, one);
        for (long i = 0; i < size; ++i) x[i] = static_cast<T>(one[i]);
      }
    }
  }
  void load_answers(Feed const& feed, long step, long valid) {
    schedule::Range const told = told_in(round_);
    long const rows = program_.rows, before = share_.first * rows, first = told.begin * rows;
    take_answers(feed, functions_.wanted, {step, before + first, static_cast<int>(told.size() * rows), valid - first},
                 answers());
  }
  Answers answers() const {
    long const slot = layout_.slot(program_, program_.node[program_.nodes - 1].part, round_);
    return {at<int>(layout_.labels + slot * layout_.labels_apart),
            at<float>(layout_.targets + slot * layout_.targets_apart),
            at<float>(layout_.sample_weights + slot * layout_.sample_weights_apart)};
  }

  void kernel(Action<T> const& a) { a.make_sums ? a.make_sums(context(), a.t, a.branches) : a.call(context(), a.t); }
  void run_noted(Action<T>& a) {
    long const since = Timeline::now();
    if (a.act == Act::Kernel) {
      kernel(a);
    } else {
      run(a);
    }
    bool const merges = a.act == Act::Merge || a.act == Act::MergeBatchSums || a.act == Act::Round;
    if (a.act != Act::Reclaim && a.act != Act::Recycle)
      timeline_.note(merges ? Did::Merge : Did::Line, Lane::Compute, a.step, since);
    if (a.act == Act::Kernel) gradients_.progress();
  }
  void run(Action<T>& a) {
    switch (a.act) {
      case Act::Kernel:
        kernel(a);
        return gradients_.progress();
      case Act::Merge:
        return add_range<T>(a.to, a.from, a.n, a.rounded);
      case Act::MergeBatchSums:
        return add_range<S>(a.sum_to, a.sum_from, a.n, false);
      case Act::Round:
        for (long i = 0; i < a.n; ++i) a.to[i] = rounded_to<T>(a.to[i]);
        return;
      case Act::Add:
        for (long i = 0; i < a.n; ++i) {
          a.add_to[i] = static_cast<T>(static_cast<A>(a.add_to[i]) + static_cast<A>(a.add_from[i]));
        }
        return;
      case Act::Convert:
      case Act::Sum:
        return exchange(a);
      case Act::Recycle:
        return;  // in begin()
      case Act::Offer:
        return m_.world->reach(m_.rank, a.step, ++passed(a.step));
      case Act::Pull:
        return pull(a);
      case Act::Gather:
        return gather(a);
      case Act::Reclaim:
        return gradients_.reclaim(a.bucket);
      case Act::Start:
        return gradients_.start(a.bucket, round_);
      case Act::Keep:
        return gradients_.keep(a.bucket);
      case Act::Norm:
        return norm(a);
      case Act::Update:
        return gradients_.update(a.bucket, stepping_);
      case Act::UpdateWeight: {
        Stepping<T> own = stepping_;
        own.shift = {a.shift, a.shift, a.shift};
        return a.update(context(), a.t, own, a.n);
      }
    }
  }

  /// What a step exchanges in one round of accumulation; if it is a sum over ranks, of what.
  struct StepExchange {
    int round, step;
    schedule::RankGroup group;
    schedule::TransferList list;
    schedule::SumOverRanks sum;
    std::vector<int> peers;  // of a norm: the other ranks that have parts of it
  };
  /// Numbers what the actions of a round exchange. Training and evaluation share it.
  void list_values(std::vector<Action<T>>& actions, int round) {
    for (Action<T>& a : actions) {
      if (!waits(a.act)) continue;
      auto const same = [&](StepExchange const& v) { return v.round == round && v.step == a.step; };
      auto const at = std::find_if(values_.begin(), values_.end(), same);
      a.exchange = static_cast<int>(at - values_.begin());
      if (at != values_.end()) continue;
      StepExchange& made = values_.emplace_back(
          StepExchange{round, a.step, m_.group(exchanged_over(program_, program_.step[a.step])), {}, {}, {}});
      schedule::exchange(program_, a.step, share_, m_.rank, round, made.list);
      if (a.act == Act::Convert || a.act == Act::Sum)
        made.sum = schedule::sum_over_ranks(program_, program_.step[a.step], share_, m_.rank, round);
      for (int s = 0; a.act == Act::Norm && s < share_.ranks.stages; ++s) {
        schedule::RankGroup const g = m_.group_at(s, schedule::norm_over(program_, share_.ranks));
        for (int i = 0; i < g.size; ++i) {
          if (g.rank(i) != m_.rank) made.peers.push_back(g.rank(i));
        }
      }
    }
  }
  // Between stages: the counter of a step is, of the rank that sends, the number of values that it has offered, and of
  // the one that reads, of those that it has read.
  long& passed(int step) { return passed_[static_cast<std::size_t>(step)]; }
  int other_stage(int step) const {
    schedule::Step const& s = program_.step[step];
    int const sends = program_.pipeline.stage(schedule::sender_of(program_, s)),
              reads = program_.pipeline.stage(schedule::part_of(program_, s));
    return share_.ranks.stage(m_.rank) == sends ? reads : sends;
  }
  /// The place of an activation is written again after as many rounds as there are slots, or in the next step; that of
  /// a gradient in the next round.
  void recycle(Action<T> const& a) {
    schedule::Step const& s = program_.step[a.step];
    bool const forward = s.what == schedule::Do::Convert;
    int const slots = forward ? program_.pipeline.slots(schedule::sender_of(program_, s)) : 1;
    m_.await_value(share_.ranks.at_stage(m_.rank, other_stage(a.step)), a.step,
                   passed(a.step) + 1 - std::min(round_ + 1, slots));
  }
  void pull(Action<T> const& a) {
    int const stage = other_stage(a.step), peer = share_.ranks.at_stage(m_.rank, stage);
    m_.await_value(peer, a.step, ++passed(a.step));
    int const buffer = schedule::converted(program_, program_.step[a.step]).index;
    long const from = layouts_[static_cast<std::size_t>(stage)].buffer_in(program_, buffer, round_);
    m_.template fetch<T>(peer, from, 0, a.n);
    m_.read_from(peer, a.n, sizeof(T));
    std::memcpy(a.add_to, m_.template at<T const>(peer, from), static_cast<std::size_t>(a.n) * sizeof(T));
    m_.world->reach(m_.rank, a.step, passed(a.step));
  }
  void exchange(Action<T> const& a) {
    StepExchange const& v = values_[static_cast<std::size_t>(a.exchange)];
    schedule::Step const& step = program_.step[a.step];
    transfers_.offsets().round = round_;
    bool const over_batch = a.act == Act::Sum;
    if (!over_batch && schedule::verb_of(program_, step) == op::Verb::Slice) return transfers_.run_round(v.list);
    if (v.sum.elements == 0 || !v.sum.one_each || !are_two(m_, v.group)) return transfers_.run(v.list, v.group, a.step);
    long const from = transfers_.offsets()(v.sum.from), to = transfers_.offsets()(v.sum.to);
    over_batch ? all_reduce_of_two<S, S>(m_, v.group, a.step, false, from, to, v.sum.elements)
               : all_reduce_of_two<T, T>(m_, v.group, a.step, false, from, to, v.sum.elements);
  }
  void gather(Action<T> const& a) {
    StepExchange const& v = values_[static_cast<std::size_t>(a.exchange)];
    transfers_.offsets().bucket = a.bucket;
    if (v.list.rounds() > 0) transfers_.run(v.list, v.group, a.step);
  }
  /// What a rank has of the sum has two places in its arena, used in turn: a rank that writes norm k has read all of
  /// norm k - 1, so norm k - 2 has been read by all.
  void norm(Action<T> const& a) {
    StepExchange const& v = values_[static_cast<std::size_t>(a.exchange)];
    constexpr int words = ExactSquares<A>::words;
    bool const of_parts = schedule::sums_parts_of_norm(program_, program_.format, share_.ranks);
    transfers_.offsets().turn = 1 - transfers_.offsets().turn;
    transfers_.offsets().digits = of_parts ? words : 0;
    auto* const own = v.peers.empty() ? nullptr : at<double>(transfers_.offsets()({schedule::Storage::Squares}));
    ExactSquares<A> of_rank = gradients_.squares();
    double squares = of_rank.value();
    if (own) {
      of_parts ? of_rank.write(own) : void(*own = squares);
      m_.reach(a.step, 1);
      m_.await_these(v.peers, a.step, m_.round * Member::marks + 1);
      transfers_.run_round(v.list);
      double const* const all = at<double>(transfers_.offsets()({schedule::Storage::Norm}));
      squares = of_parts ? 0 : *all;
      for (int way = 0; of_parts && way < share_.ranks.ways(); ++way)
        squares += ExactSquares<A>::Digits::value(all + way * words);
    }
    stepping_.scale = functions_.gradient_scale(squares, states() + program_.loss_scale);
  }

  void count(long valid, Seen& seen) const {
    schedule::ProgramNode const& last = program_.node[program_.last];
    if (!share_.tells(last.batch_axes, m_.rank)) return;
    schedule::Range const r = m_.slices(share_, last.batch_axes, round_);
    functions_.score(output(), answers(), {r.begin * program_.rows, r.end * program_.rows}, valid, seen);
  }

  using Arena<N>::program_, Arena<N>::layout_;
  Functions<T> const& functions_;
  int const rounds_;
  schedule::Share share_;
  std::byte* const base_;
  Member m_;
  op::Pass pass_;
  Stepping<T> stepping_;
  std::span<schedule::LayoutView const> layouts_;
  std::vector<RoundOfActions<Action<T>>> train_, evaluate_;
  std::vector<long> passed_;  // of each step between two stages
  Gradients<T> gradients_;
  std::vector<StepExchange> values_;
  Transfers<T> transfers_{m_, {&program_, &layout_}};
  Timeline timeline_;
  int round_ = 0;
};

}  // namespace cleave::backend::host
