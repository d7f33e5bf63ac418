// backend/host/rank.hpp - one rank of a program: its arena, its actions, and passes over them. A step allocates nothing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstring>

#include "../../schedule/exchange.hpp"
#include "communication/convert.hpp"
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

  /// What `layout` is of must outlive it.
  Rank(Executable<T> const& of, World& world, schedule::LayoutView const& layout, int rank, std::uint64_t seed,
       schedule::Share share)
      : Arena<N>(of.program, layout),
        functions_(*of.functions),
        rounds_(of.program.rounds),
        share_(share),
        base_(this->base()) {
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
    for (Axis a : {Axis::Data, Axis::World}) {
      sums_[a == Axis::World] = reduction(m_, a, share_, program_.format.ordered, false);
    }
    gradients_.prepare({&program_, of.functions, of.kernels, &m_, &share_, &layout_});
    conversions_.resize(static_cast<std::size_t>(rounds_) * static_cast<std::size_t>(program_.steps));
    for (int round = 0; round < rounds_; ++round) {
      for (int step = 0; step < program_.steps; ++step) {
        if (converts(program_.step[step].what))
          schedule::exchange(program_, step, share_, rank, round, conversion(round, step));
      }
    }
    stepping_.weights = weights();
    stepping_.copies = narrow ? at<T>(layout_.copies) : nullptr;
    stepping_.moments = moments();
    stepping_.apart = program_.weight_elements;
    stepping_.step_sums = functions_.step_sums;
    stepping_.step_data = functions_.step_data;
    host::start(program_, seed, m_.way(), weights(), states());
    this->refresh_copies();
    if (world.remote()) {
      world.shadow(bytes());
      world.remote()->share_arena(base_, bytes());
    }
  }
  Rank(Rank const&) = delete;
  Rank& operator=(Rank const&) = delete;

  /// Step numbers count from 0. `now.steps` counts from 1.
  void train(long step, Feed const& feed, optim::Now<A> const& now) {
    pass(step, true);
    stepping_.now = now;
    m_.timeline = timeline_.begin(step) ? &timeline_ : nullptr;
    for (int r = 0; r < rounds_; ++r) {
      begin(r, feed, step, every);
      auto& actions = train_[static_cast<std::size_t>(r)];
      if (m_.timeline) {
        for (Action<T>& a : actions) run_noted(a);
      } else {
        for (Action<T>& a : actions) run(a);
      }
    }
    m_.timeline = nullptr;
    gradients_.trained();
  }
  /// Traces the next `steps` steps; allocates the memory for it, and for `more` additional spans of each step.
  void trace(int steps, std::size_t more = 0) {
    std::size_t each = gradients_.most_spans() + more;
    for (auto const& round : train_) {
      each += 1 + round.size();
      for (Action<T> const& a : round) each += waits(a.act) ? waits_of_a_meeting : 0;
    }
    timeline_ = Timeline(steps, each);
  }
  Timeline& timeline() { return timeline_; }
  Timeline const& timeline() const { return timeline_; }
  Seen evaluate(long batch, Feed const& feed, long valid) {
    pass(batch, false);
    Seen seen;
    for (int r = 0; r < rounds_; ++r) {
      begin(r, feed, batch, valid);
      for (Action<T>& a : evaluate_[static_cast<std::size_t>(r)]) run(a);
      count(valid, seen);
    }
    return seen;
  }

  /// Calls told(micro-batch, sum of its samples' losses) for those of the last step whose loss this rank has.
  template <class Told> void each_loss(Told told) const {
    int const first = share_.replica(m_.replica()).begin;
    for (int r = 0; r < rounds_; ++r) {
      schedule::Range const of = told_in(r);
      for (int s = of.begin; s < of.end; ++s) told(s, at<A>(layout_.losses)[s - first]);
    }
  }
  /// Seed of dropout.
  void set_seed(std::uint64_t seed) { pass_.seed = seed; }
  /// Random numbers of a step start at this micro-batch.
  void begin_at(int micro_batch) { share_.first = micro_batch; }
  Member const& member() const { return m_; }
  schedule::Share const& share() const { return share_; }
  template <class E> E* at(long offset) const { return Arena<N>::template at<E>(offset); }
  /// Those of the last round.
  T const* output() const { return at<T>(layout_.buffer[program_.value[program_.last]]); }
  /// From now on a step adds its gradient (weight_elements) to the push buffer instead of updating the weights by the
  /// plan's optimizer; with a local rate it also updates them by plain SGD.
  void keep_gradients(A own_rate = 0) {
    stepping_.kept = this->outbox();
    stepping_.own_rate = own_rate;
  }
  /// Seconds spent waiting for gradients after the backward pass.
  double exposed() const { return gradients_.exposed(); }

 private:
  static constexpr long every = std::numeric_limits<long>::max();
  schedule::Range told_in(int round) const {
    return m_.slices(share_, program_.node[program_.nodes - 1].rows_cut, round);
  }
  static bool waits(Act a) { return a == Act::Convert || a == Act::Sum || a == Act::Norm; }
  Context context() const { return {at<std::byte>(layout_.workspace)}; }

  void pass(long step, bool training) {
    pass_.step = static_cast<std::uint32_t>(step);
    pass_.training = training;
    pass_.first = long{share_.first} * program_.rows;
  }
  void begin(int round, Feed const& feed, long step, long valid) {
    ++m_.round;  // the flags of conversions distinguish rounds
    round_ = round;
    long const since = m_.timeline ? Timeline::now() : 0;
    load(feed, step, valid);
    if (!m_.timeline) return;
    timeline_.begin_round(round);
    timeline_.note(Did::Load, Lane::Compute, -1, since);
  }
  void load(Feed const& feed, long step, long valid) {
    schedule::Range const mine = m_.slices(share_, program_.input_cut, round_), told = told_in(round_);
    long const size = program_.input.size(), rows = program_.rows, before = share_.first * rows;
    T* x = at<T>(layout_.buffer[program_.input_value]);
    if constexpr (std::is_same_v<T, float>) {
      feed.pixels(feed.self, step, before + mine.begin * rows, static_cast<int>(mine.size() * rows), x);
    } else {
      auto* one = at<float>(layout_.workspace);
      for (long r = mine.begin * rows; r < mine.end * rows; ++r, x += size) {
        feed.pixels(feed.self, step, before + r, 1, one);
        for (long i = 0; i < size; ++i) x[i] = static_cast<T>(one[i]);
      }
    }
    long const first = told.begin * rows;
    take_answers(feed, functions_.wanted, {step, before + first, static_cast<int>(told.size() * rows), valid - first},
                 at<int>(layout_.labels), at<float>(layout_.targets));
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
    if (a.act != Act::Reclaim) timeline_.note(merges ? Did::Merge : Did::Line, Lane::Compute, a.step, since);
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
        return convert(a.step);
      case Act::Sum:
        return sum(a);
      case Act::Reclaim:
        return gradients_.reclaim(a.bucket);
      case Act::Start:
        return gradients_.start(a.bucket);
      case Act::Norm:
        return norm(a.step);
      case Act::Update:
        return gradients_.update(a.bucket, stepping_);
      case Act::UpdateWeight:
        return a.update(context(), a.t, stepping_, a.n);
    }
  }

  void norm(int step) {
    double squares = gradients_.squares();
    if (program_.ways > 1) squares = sum_over_ways(m_, step, layout_.norm, norms_++, squares);
    stepping_.scale = functions_.clip_scale(squares);
  }
  void sum(Action<T> const& a) {
    bool const world = program_.node[program_.step[a.step].node].rows_cut;
    auto const offset = [&](S const* p) { return reinterpret_cast<std::byte const*>(p) - base_; };
    all_reduce<S, S>(m_, world ? Axis::World : Axis::Data, a.step, sums_[world], offset(a.sum_from),
                     program_.most_sum_leaf * static_cast<long>(sizeof(S)), offset(a.sum_to), a.n);
  }
  static bool converts(schedule::Do what) { return what == schedule::Do::Convert || what == schedule::Do::ConvertBack; }
  schedule::TransferList& conversion(int round, int step) {
    return conversions_[static_cast<std::size_t>(long{round} * program_.steps + step)];
  }
  void convert(int step) {
    schedule::Step const s = program_.step[step];
    schedule::ProgramNode const& n = program_.node[s.node];
    bool const forward = s.what == schedule::Do::Convert;
    op::Verb const verb = forward ? n.forward : n.backward;
    Converter<T> const converter(m_, layout_.buffer);
    if (verb == op::Verb::Slice) return converter.local(conversion(round_, step));
    if (verb == op::Verb::AllReduce && are_two(m_, Axis::Model)) {
      int const input = n.in0 < 0 ? program_.input_value : program_.value[n.in0];
      return all_reduce_of_two<T, T>(m_, Axis::Model, step, false,
                                     layout_.buffer[forward ? input : program_.gradient[s.node]], layout_.buffer[s.dx],
                                     long{m_.slices(share_, false, round_).size()} * program_.rows * n.features);
    }
    converter.run(conversion(round_, step), step);
  }

  void count(long valid, Seen& seen) const {
    schedule::ProgramNode const& last = program_.node[program_.last];
    if (!last.rows_cut && m_.way() != 0) return;
    schedule::Range const r = m_.slices(share_, last.rows_cut, round_);
    functions_.score(output(), at<int>(layout_.labels), at<float>(layout_.targets),
                     {r.begin * program_.rows, r.end * program_.rows}, valid, seen);
  }

  using Arena<N>::program_, Arena<N>::layout_;
  Functions<T> const& functions_;
  int const rounds_;
  schedule::Share share_;
  std::byte* const base_;
  Member m_;
  op::Pass pass_;
  Stepping<T> stepping_;
  std::vector<std::vector<Action<T>>> train_, evaluate_;  // by rounds
  Gradients<T> gradients_;
  Reduction sums_[2];  // of the model's sums, which are never rounded: over replicas, over all ranks
  std::vector<schedule::TransferList> conversions_;  // by rounds, then steps
  Timeline timeline_;
  int round_ = 0;
  long norms_ = 0;  // taken so far
};

}  // namespace cleave::backend::host
