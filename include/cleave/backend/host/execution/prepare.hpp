// backend/host/execution/prepare.hpp - lowers the schedule and a layout to one rank's actions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "actions.hpp"
#include "pointers.hpp"

namespace cleave::backend::host {

/// `kernels` are those of the program's nodes.
template <class N, class On = Host> class Prepare : public Pointers<N> {
  using Base = Pointers<N>;

 public:
  using T = N;
  using Made = Action<T, On>;
  using A = tensor::accumulate_t<T>;

  Prepare(schedule::Program const& program, Kernels<T, On> const* kernels, Member const& m,
          schedule::Share const& share, schedule::LayoutView const& layout, std::byte* base, op::Pass const* pass)
      : Base(program, m, share, layout, base, pass), kernels_(kernels) {}

  using Rounds = std::vector<RoundOfActions<Made>>;

  /// The actions of each round. A layer's sum continues from the round before, and what is done with the complete sum
  /// is done in the last round only; or each round's gradients are summed over the ranks by themselves.
  Rounds training() {
    training_ = true;
    return rounds([&](int s) {
      return !schedule::once_a_step(program_.step[s].what, share_.sums_rounds) || round_ == program_.rounds - 1;
    });
  }
  Rounds evaluation() {
    return rounds([&](int s) {
      schedule::Step const step = program_.step[s];
      bool const sums = step.what == schedule::Do::Sum ||
                        (step.what == schedule::Do::Forward && step.node >= 0 && node(step.node).sums_batch);
      return s < program_.forward_steps && !sums;
    });
  }

 private:
  /// Of the steps that are asked for; in a pipeline in the order of the stage's tasks.
  template <class Asked> Rounds rounds(Asked asked) {
    Rounds all;
    schedule::PipelineSchedule const& p = program_.pipeline;
    for (round_ = 0; round_ < program_.rounds && !p.is_split(); ++round_) {
      if (share_.sums_rounds) tree_.assign(tree_.size(), schedule::TreeSum{share_.micro_batches});
      for (int s = 0; s < program_.steps; ++s) {
        if (asked(s)) add(s);
      }
      all.push_back({.round = round_, .actions = std::exchange(out_, {})});
    }
    int const stage = share_.ranks.stage(m_.rank);
    for (int k = 0; p.is_split() && k < p.pipeline.tasks(); ++k) {
      schedule::PipelineTask const& t = p.task(stage, k);
      if (t.back && !training_) continue;
      round_ = t.micro_batch;
      add_task(t, asked);
      bool const last = !t.back && t.part == p.pipeline.parts() - 1;
      all.push_back({round_, !t.back && t.part == 0, last, last, std::exchange(out_, {})});
    }
    if (p.is_split() && training_ && program_.waits_for_norm) end_of_step(stage, all.back());
    return all;
  }
  /// What waits for the gradients of all stages.
  void end_of_step(int stage, RoundOfActions<Made>& last) {
    out_ = std::move(last.actions);
    for (int s = 0; s < program_.steps; ++s) {
      schedule::Step const& step = program_.step[s];
      bool const here = step.what == schedule::Do::Update && stage_of(step) == stage;
      if (step.what == schedule::Do::Norm || here) add(s);
    }
    last.actions = std::exchange(out_, {});
  }
  bool continues(int i) const { return i > 0 || (round_ > 0 && !share_.sums_rounds); }
  int stage_of(schedule::Step const& step) const { return program_.pipeline.stage(schedule::part_of(program_, step)); }
  template <class Asked> void add_task(schedule::PipelineTask const& t, Asked asked) {
    int const begin = t.back ? program_.forward_steps : 0, end = t.back ? program_.steps : program_.forward_steps;
    auto const waits = [&](int s) { return program_.waits_for_norm && program_.step[s].what == schedule::Do::Update; };
    auto const sends = [&](int s) { return schedule::sender_of(program_, program_.step[s]) == t.part; };
    for (int s = begin; s < end; ++s) {
      if (sends(s)) emit(Act::Recycle, s);
    }
    for (int s = begin; s < end; ++s) {
      if (sends(s)) {
        emit(Act::Offer, s);
      } else if (schedule::part_of(program_, program_.step[s]) == t.part && asked(s) && !waits(s)) {
        add(s);
      }
    }
  }

  using Base::aim;
  using Base::gradient;
  using Base::layout_;
  using Base::m_;
  using Base::node;
  using Base::on_the_way_back_;
  using Base::operands;
  using Base::program_;
  using Base::round_;
  using Base::share_;
  using Base::slices;
  using Base::sum;

  Made& emit(Act act, int step) {
    out_.push_back({});
    out_.back().act = act;
    out_.back().step = step;
    return out_.back();
  }
  void kernel(int step, typename Made::Call call, op::Operands<T> const& t) {
    Made& a = emit(Act::Kernel, step);
    a.call = call;
    a.t = t;
  }

  void add(int s) {
    using enum schedule::Do;
    schedule::Step const step = program_.step[s];
    int const k = step.node;
    on_the_way_back_ = s >= program_.forward_steps;
    if (is_linked(s)) return;
    if (typename Made::Call const all = linking(s)) {
      return each_slice(k, [&](op::Operands<T>& t, int i) {
        aim(t, step, i);
        kernel(s, all, t);
        linked(s, i);
      });
    }
    switch (step.what) {
      case Forward:
        if (training_ && kernels_[k].loss_with_gradient) return;
        if (node(k).sums_batch) return summed(s, k, kernels_[k].forward);
        return each_slice(k, [&](op::Operands<T> const& t, int i) {
          kernel(s, kernels_[k].forward, t);
          behind(k, false, i);
        });
      case BackwardInput:
        return each_slice(k, [&](op::Operands<T>& t, int i) {
          aim(t, step, i);
          kernel(s, kernels_[k].backward_input, t);
          behind(k, true, i);
        });
      case BackwardWeight:
        if (steps_alone(k)) {
          Made& a = emit(Act::UpdateWeight, s);
          a.t = operands(k, 0);
          tied(a, k, 0);
          a.t.dw0 = gradient(k, 0, 0);
          if (node(k).weights > 1) a.t.dw1 = gradient(k, 1, 0);
          a.update = kernels_[k].update_weight;
          a.n = program_.weight[program_.first_weight[k]].offset;
          a.shift = program_.weight[program_.first_weight[k]].shift;
          return;
        }
        if (sent_as_factors(k)) return;
        reclaim(k);
        return summed(s, k, kernels_[k].backward_weight);
      case Start:
      case Keep:
      case Update: {
        Act const act = step.what == Start ? Act::Start : step.what == Keep ? Act::Keep : Act::Update;
        if (!steps_alone(program_.bucket[k].node)) emit(act, s).bucket = k;
        return;
      }
      case Sum:
      case SumBack:
        emit(Act::Sum, s);
        return;
      case Add: {
        Made& a = emit(Act::Add, s);
        a.add_to = this->template buffer<T>(step.dx);
        a.add_from = this->template buffer<T>(step.dx2);
        schedule::AxisSet const cut = k < 0 ? program_.input_axes : node(k).batch_axes;
        Shape const shape = k < 0 ? program_.input : node(k).local.y;
        a.n = long{slices(cut).size()} * program_.rows * shape.size();
        return;
      }
      case Norm:
        emit(Act::Norm, s);
        return;
      case Gather:
        emit(Act::Gather, s).bucket = k;
        return;
      case Convert:
      case ConvertBack:
        if (schedule::sender_of(program_, step) >= 0) return pull(s);
        emit(Act::Convert, s);
        return;
    }
  }

  void pull(int s) {
    schedule::Step const& step = program_.step[s];
    Made& a = emit(Act::Pull, s);
    a.add_to = this->template buffer<T>(step.dx);
    a.n = long{slices(node(step.node).batch_axes).size()} * program_.rows * node(step.node).local.y.size();
  }
  /// If no other rank and no other slice contributes to a gradient, the weights are updated as it is computed.
  bool steps_alone(int k) const { return kernels_[k].update_weight && share_.parts(node(k).summed_over()) == 1; }

  /// Then every rank computes the whole gradient from the factors of all, when they have arrived.
  bool sent_as_factors(int k) const {
    long const weight = program_.weight[program_.first_weight[k]].offset;
    for (int b = 0; b < program_.buckets; ++b) {
      schedule::Bucket const& bucket = program_.bucket[b];
      bool const in_it = weight >= bucket.offset && weight < bucket.offset + bucket.count;
      if (bucket.factors > 0 && in_it) return share_.parts(bucket.over) > 1;
    }
    return false;
  }
  /// Before a layer's first gradient of a pass. The backward pass visits the buckets from last to first.
  void reclaim(int k) {
    schedule::PipelineSchedule const& p = program_.pipeline;
    for (; unclaimed_ >= 0 && program_.bucket[unclaimed_].leaf >= node(k).leaf; --unclaimed_) {
      bool const here = p.stage(program_.bucket[unclaimed_].part) == p.stage(node(k).part);
      if (here) emit(Act::Reclaim, 0).bucket = unclaimed_;
    }
  }

  void behind(int k, bool back, int i) {
    int const n = program_.tail(k, back);
    if (n == 0) return;
    Made& a = out_.back();
    a.tail = std::shared_ptr<op::Operands<T>[]>(new op::Operands<T>[static_cast<std::size_t>(n)] {});
    Base::behind(a.t, a.tail.get(), k, back, i);
  }

  /// The other operation that has the weight of node k.
  void tied(Made& a, int k, int i) {
    if (node(k).tied < 0) return;
    a.tail = std::shared_ptr<op::Operands<T>[]>(new op::Operands<T>[1] { operands(node(k).tied, i) });
    a.t.tail = a.tail.get();
  }

  /// The kernel of step s and of those linked to it, if there is one.
  typename Made::Call linking(int s) const {
    schedule::Step const step = program_.step[s];
    bool const back = step.what == schedule::Do::BackwardInput;
    bool const forth = step.what == schedule::Do::Forward && s < program_.forward_steps;
    return back || forth ? kernels_[step.node].linked[back] : nullptr;
  }
  /// Whether it is part of an earlier step's kernel.
  bool is_linked(int s) const {
    int first = s;
    while (program_.step[first].linked) --first;
    return first < s && linking(first);
  }
  /// The operands of step s are followed by those of its epilogue, then by the next step's, and so on.
  void linked(int s, int i) {
    Made& a = out_.back();
    bool const back = program_.step[s].what == schedule::Do::BackwardInput;
    int const links = program_.links(s);
    int n = links;
    for (int l = 0; l <= links; ++l) n += program_.tail(program_.step[s + l].node, back);
    a.tail = std::shared_ptr<op::Operands<T>[]>(new op::Operands<T>[static_cast<std::size_t>(n)] {});
    op::Operands<T>*t = &a.t, *free = a.tail.get();
    for (int l = 0; l <= links; ++l) {
      schedule::Step const step = program_.step[s + l];
      if (l > 0) {
        t = free++;
        *t = operands(step.node, i);
        t->slices = a.t.slices;
        aim(*t, step, i);
      }
      Base::behind(*t, free, step.node, back, i);
      free += program_.tail(step.node, back);
    }
  }
  /// put(operands, slice) for each slice of this rank, or once if a kernel takes all of them.
  template <class Put> void each_slice(int k, Put put) const {
    int const n = slices(node(k).batch_axes).size(), at_once = kernels_[k].takes_slices ? n : 1;
    for (int i = 0; i < n; i += at_once) {
      op::Operands<T> t = operands(k, i);
      t.slices = at_once;
      put(t, i);
    }
  }

  /// One kernel computes the sums of all slices and merges them.
  void summed_at_once(int step, int k) {
    schedule::Range const range = slices(node(k).batch_axes);
    schedule::TreeSum& tree = tree_[static_cast<std::size_t>(k)];
    auto const stack = [&](int which) -> decltype(Made::branches.dw0) {
      if (node(k).sums_batch || node(k).weights <= which) return {};
      return {gradient(k, which, 0), gradient(k, which, layout_.kept), layout_.gradient.count,
              program_.most_weight_leaf, layout_.kept};
    };
    auto const later = [&](int i) { return continues(i); };
    for (int i = 0; i < range.size();) {
      Made& a = emit(Act::Kernel, step);
      a.make_sums = kernels_[k].make_sums;
      a.t = operands(k, i);
      a.branches = {stack(0), stack(1), {sum(0), sum(1), 0, program_.most_sum_leaf}};
      a.branches.depth = ordered() ? tree.depth : later(i);
      a.branches.rounded = rounded();
      for (a.t.slices = 0; i < range.size(); ++i, ++a.t.slices) {
        schedule::TreeSum next = tree;
        int merges = !ordered() && later(i);
        if (ordered()) next.push({range.begin + i, 1}, [&](int, int) { ++merges; });
        if (!a.branches.push(merges)) break;
        tree = next;
      }
    }
  }

  /// One kernel for each slice, each a leaf; siblings are merged when both are complete.
  void summed(int step, int k, typename Made::Call call) {
    if (kernels_[k].make_sums) return summed_at_once(step, k);
    schedule::Range const range = slices(node(k).batch_axes);
    schedule::TreeSum& tree = tree_[static_cast<std::size_t>(k)];
    int const weights = node(k).sums_batch ? 0 : node(k).weights;
    bool const stats = node(k).sums_batch || node(k).stats_input;
    long const stats_size = node(k).sums_batch ? node(k).local.y.size() : node(k).local.x2.size();
    auto const each = [&](int to, int from) {
      for (int w = 0; w < weights; ++w) {
        merge(step, gradient(k, w, to), from < 0 ? nullptr : gradient(k, w, from),
              program_.weight[program_.first_weight[k] + w].count);
      }
      if (stats && from >= 0) {
        Made& a = emit(Act::MergeBatchSums, step);
        a.sum_to = sum(to);
        a.sum_from = sum(from);
        a.n = stats_size;
      }
    };
    for (int i = 0; i < range.size(); ++i) {
      bool const first = !continues(i);
      int const p = ordered() ? tree.depth : first ? 0 : 1;
      op::Operands<T> t = operands(k, i);
      if (weights > 0) t.dw0 = gradient(k, 0, p);
      if (weights > 1) t.dw1 = gradient(k, 1, p);
      if (stats) (node(k).sums_batch ? t.stats : t.dstats) = sum(p);
      kernel(step, call, t);
      if (weights > 0) tied(out_.back(), k, i);
      if (rounded()) each(p, -1);
      if (ordered()) {
        tree.push({range.begin + i, 1}, each);
      } else if (!first) {
        each(0, 1);
      }
    }
  }
  void merge(int step, A* to, A* from, long n) {
    Made& a = emit(from ? Act::Merge : Act::Round, step);
    a.to = to;
    a.from = from;
    a.n = n;
    a.rounded = rounded();
  }

  bool ordered() const { return program_.format.ordered; }
  bool rounded() const { return sizeof(T) < sizeof(A) && ordered(); }

  Kernels<T, On> const* kernels_;
  std::vector<Made> out_;
  bool training_ = false;
  std::vector<schedule::TreeSum> tree_ = std::vector<schedule::TreeSum>(  // of each node, over the rounds
      static_cast<std::size_t>(program_.nodes), schedule::TreeSum{share_.micro_batches});
  int unclaimed_ = program_.buckets - 1;
};

}  // namespace cleave::backend::host
