// backend/host/prepare.hpp - from the schedule and a layout to one rank's actions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "actions.hpp"

namespace cleave::backend::host {

template <class P, class On = Host> class Prepare {
 public:
  using T = typename P::number;
  using Made = Action<T, On>;
  using Table = host::Table<P, On>;
  using Loss = meta::at<typename P::ops, P::ops::size - 1>;
  using A = tensor::accumulate_t<T>;
  using Layout = schedule::Layout<P::ops::size>;
  static constexpr bool narrow = sizeof(T) < sizeof(A);
  static constexpr bool rounded = narrow && P::format.ordered;

  Prepare(Member const& m, schedule::Share const& share, Layout const& layout, std::byte* base, op::Pass const* pass)
      : m_(m), share_(share), layout_(layout), base_(base), pass_(pass) {}

  /// The actions of each round. A layer's sum goes on where the round before left it; what is done with the sum, once,
  /// is done in the last.
  std::vector<std::vector<Made>> training() {
    std::vector<std::vector<Made>> all;
    training_ = true;
    for (round_ = 0; round_ < rounds; ++round_) {
      for (int s = 0; s < P::schedule.steps; ++s) {
        schedule::Do const what = P::schedule.step[s].what;
        bool const once = what == schedule::Do::Start || what == schedule::Do::Update;
        if (!once || round_ == rounds - 1) add(s);
      }
      all.push_back(std::exchange(out_, {}));
    }
    return all;
  }
  std::vector<std::vector<Made>> evaluation() {
    std::vector<std::vector<Made>> all;
    for (round_ = 0; round_ < rounds; ++round_) {
      for (int s = 0; s < P::schedule.forward_steps; ++s) {
        schedule::Step const step = P::schedule.step[s];
        bool const sums = step.what == schedule::Do::Sum ||
                          (step.what == schedule::Do::Forward && is_op(step.node) && op(step.node).sums_batch);
        if (!sums) add(s);
      }
      all.push_back(std::exchange(out_, {}));
    }
    return all;
  }

  template <class E> E* at(long offset) const { return reinterpret_cast<E*>(base_ + offset); }

 private:
  static constexpr int rounds = P::request.rounds;
  schedule::Range slices(bool rows_cut) const { return m_.slices(share_, rows_cut, round_); }

  static constexpr place::Node const& node(int k) { return P::placed.node[k]; }
  static constexpr bool is_op(int k) { return node(k).op >= 0; }
  static constexpr place::Signature const& op(int k) { return P::signatures.op[node(k).op]; }
  template <class E> E* buffer(int b) const { return b < 0 ? nullptr : at<E>(layout_.buffer[b]); }
  static constexpr int value(int k) { return k < 0 ? P::schedule.input_value : P::schedule.value[k]; }

  /// The operands of node k on its i-th slice here.
  op::Operands<T> operands(int k, int i) const {
    auto const& s = P::schedule;
    place::Node const& n = node(k);
    schedule::Range const range = slices(n.rows_cut);
    long const row = long{i} * P::request.rows;
    op::Operands<T> t;
    auto const rows_of = [&](T* p, Shape shape) { return p ? p + row * shape.size() : nullptr; };
    t.x = rows_of(buffer<T>(value(n.in0)), n.local.x);
    if (n.in1 > -2) {
      if (op(k).stats_input) {
        t.stats = buffer<A>(value(n.in1));
      } else {
        t.x2 = rows_of(buffer<T>(value(n.in1)), n.local.x2);
      }
    }
    if (op(k).weights > 0) t.w0 = weight(k, 0);
    if (op(k).weights > 1) t.w1 = weight(k, 1);
    if (s.bias[k] >= 0) t.bias = weight(s.bias[k], 0);
    if (op(k).sums_batch) {
      t.dstats = buffer<A>(s.gradient[k]);
    } else {
      t.y = rows_of(buffer<T>(s.value[k]), n.local.y);
      t.dy = rows_of(buffer<T>(s.gradient[k]), n.local.y);
    }
    if (s.aux[k] >= 0) t.aux = buffer<A>(s.aux[k]) + row * op(k).aux(n.local.x, n.local.y);
    if (op(k).states > 0) {
      t.state0 = at<A>(layout_.states) + s.state[k];
      t.state1 = t.state0 + place::algebra::cut(op(k).state, n.w[0], P::ways).size();
    }
    t.labels = at<int>(layout_.labels) + row;
    t.loss = at<A>(layout_.losses) + range.begin - share_.replica(m_.replica()).begin + i;
    t.scale = A{1} / static_cast<A>(share_.samples);
    t.where.layer = static_cast<std::uint32_t>(n.op);
    t.where.sample = long{range.begin + i} * P::request.rows;
    t.where.features = n.whole.size();
    t.where.feature = n.y.kind == place::Kind::Shard && n.y.dim == 0 ? m_.way() * n.local.y.size() : 0;
    t.where.first_slice = i == 0 && round_ == 0;
    t.pass = pass_;
    return t;
  }
  T const* weight(int k, int which) const {
    return at<T>(layout_.copies) + P::schedule.weight[P::schedule.first_weight[k] + which].offset;
  }
  /// Branch p of a sum that a rank is taking: the first lie where peers read them and the next round finds them.
  A* gradient(int k, int which, int p) const {
    schedule::Weight const w = P::schedule.weight[P::schedule.first_weight[k] + which];
    if (p < layout_.kept) return at<A>(layout_.gradients) + p * P::schedule.weight_elements + w.offset;
    long const before = which == 0 ? 0 : P::schedule.weight[P::schedule.first_weight[k]].count;
    return at<A>(layout_.scratch) + (p - layout_.kept) * P::schedule.most_weight_leaf + before;
  }
  A* sum(int p) const {
    return at<A>(layout_.scratch) + (layout_.deepest - layout_.kept) * P::schedule.most_weight_leaf +
           p * P::schedule.most_sum_leaf;
  }

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
    schedule::Step const step = P::schedule.step[s];
    int const k = step.node;
    switch (step.what) {
      case Forward:
        if (training_ && op(k).is_loss && On::template loss_with_gradient<Loss>) return;
        if (op(k).sums_batch) return summed(s, k, Table::table.of[k].forward);
        return each_slice(k, [&](op::Operands<T> const& t, int i) {
          kernel(s, Table::table.of[k].forward, t);
          behind(k, false, i);
        });
      case BackwardInput:
        return each_slice(k, [&](op::Operands<T>& t, int i) {
          long const row = long{i} * P::request.rows;
          t.dx = step.dx < 0 ? nullptr : buffer<T>(step.dx) + row * node(k).local.x.size();
          t.dx2 = step.dx2 < 0 ? nullptr : buffer<T>(step.dx2) + row * node(k).local.x2.size();
          kernel(s, Table::table.of[k].backward_input, t);
          behind(k, true, i);
        });
      case BackwardWeight:
        if (steps_alone(k)) {
          Made& a = emit(Act::UpdateWeight, s);
          a.t = operands(k, 0);
          a.t.dw0 = gradient(k, 0, 0);
          if (op(k).weights > 1) a.t.dw1 = gradient(k, 1, 0);
          a.update = Table::table.of[k].update_weight;
          a.n = P::schedule.weight[P::schedule.first_weight[k]].offset;
          return;
        }
        if (sent_as_factors(k)) return;
        reclaim(k);
        return summed(s, k, Table::table.of[k].backward_weight);
      case Start:
      case Update:
        if (!steps_alone(P::schedule.bucket[k].node)) emit(step.what == Start ? Act::Start : Act::Update, s).bucket = k;
        return;
      case Sum:
      case SumBack: {
        Made& a = emit(Act::Sum, s);
        a.to = buffer<A>(step.dx);
        a.from = sum(0);
        a.n = node(k).local.y.size();
        return;
      }
      case Add: {
        Made& a = emit(Act::Add, s);
        a.add_to = buffer<T>(step.dx);
        a.add_from = buffer<T>(step.dx2);
        bool const rows = k < 0 ? P::placed.input == place::shard(place::batch) : node(k).rows_cut;
        Shape const shape = k < 0 ? P::signatures.op[0].x : node(k).local.y;
        a.n = long{slices(rows).size()} * P::request.rows * shape.size();
        return;
      }
      case Convert:
      case ConvertBack:
        emit(Act::Convert, s);
        return;
    }
  }

  /// Where no other rank and no other slice has a part in a gradient, the weights are stepped as it is made.
  bool steps_alone(int k) const {
    bool const world = node(k).w[0].kind == place::Kind::Replicate;
    return Table::table.of[k].update_weight && m_.size(world ? Axis::World : Axis::Data) == 1;
  }

  /// Then every rank makes the gradient of all from the factors of all, when they are there.
  bool sent_as_factors(int k) const {
    for (int b = 0; b < P::schedule.buckets; ++b) {
      schedule::Bucket const& bucket = P::schedule.bucket[b];
      if (bucket.factors > 0 && bucket.leaf == op(k).leaf) return m_.size(axis_of(bucket)) > 1;
    }
    return false;
  }
  /// Before a layer's first gradient of a pass. The way back meets the buckets from last to first.
  void reclaim(int k) {
    for (; unclaimed_ >= 0 && P::schedule.bucket[unclaimed_].leaf >= op(k).leaf; --unclaimed_) {
      emit(Act::Reclaim, 0).bucket = unclaimed_;
    }
  }

  /// The operands of what the last action does behind node k, from slice i on.
  void behind(int k, bool back, int i) {
    int const n = P::schedule.tail(k, back);
    if (n == 0) return;
    Made& a = out_.back();
    a.tail = std::make_shared<op::Operands<T>[]>(static_cast<std::size_t>(n));
    for (int j = 0; j < n; ++j) {
      int const m = P::schedule.behind(k, back, j), from = m < 0 ? k : m;
      op::Operands<T>& t = a.tail[j] = operands(from, i);
      t.slices = a.t.slices;
      if (m < 0) t.dy = a.t.dx;
      if (back)
        t.dx = buffer<T>(P::schedule.gradient[node(from).in0]) + long{i} * P::request.rows * node(from).local.x.size();
    }
    a.t.tail = a.tail.get();
  }
  /// put(operands, slice) for each slice here, or once where a kernel takes all of them.
  template <class Put> void each_slice(int k, Put put) const {
    int const n = slices(node(k).rows_cut).size(), at_once = Table::table.of[k].takes_slices ? n : 1;
    for (int i = 0; i < n; i += at_once) {
      op::Operands<T> t = operands(k, i);
      t.slices = at_once;
      put(t, i);
    }
  }

  /// One kernel makes the sums of all slices and merges them.
  void summed_at_once(int step, int k) {
    schedule::Range const range = slices(node(k).rows_cut);
    schedule::TreeSum& tree = tree_[static_cast<std::size_t>(k)];
    auto const stack = [&](int which) -> decltype(Made::branches.dw0) {
      if (op(k).sums_batch || op(k).weights <= which) return {};
      return {gradient(k, which, 0), gradient(k, which, layout_.kept), P::schedule.weight_elements,
              P::schedule.most_weight_leaf, layout_.kept};
    };
    auto const later = [&](int i) { return round_ > 0 || i > 0; };
    for (int i = 0; i < range.size();) {
      Made& a = emit(Act::Kernel, step);
      a.make_sums = Table::table.of[k].make_sums;
      a.t = operands(k, i);
      a.branches = {stack(0), stack(1), {sum(0), sum(1), 0, P::schedule.most_sum_leaf}};
      a.branches.depth = P::format.ordered ? tree.depth : later(i);
      a.branches.rounded = rounded;
      for (a.t.slices = 0; i < range.size(); ++i, ++a.t.slices) {
        schedule::TreeSum next = tree;
        int merges = !P::format.ordered && later(i);
        if (P::format.ordered) next.push({range.begin + i, 1}, [&](int, int) { ++merges; });
        if (!a.branches.push(merges)) break;
        tree = next;
      }
    }
  }

  /// One kernel per slice, each a leaf; siblings are merged as soon as both are there.
  void summed(int step, int k, typename Made::Call call) {
    if constexpr (On::merges) {
      if (Table::table.of[k].make_sums) return summed_at_once(step, k);
    }
    schedule::Range const range = slices(node(k).rows_cut);
    schedule::TreeSum& tree = tree_[static_cast<std::size_t>(k)];
    int const weights = op(k).sums_batch ? 0 : op(k).weights;
    bool const stats = op(k).sums_batch || op(k).stats_input;
    long const stats_size = op(k).sums_batch ? node(k).local.y.size() : node(k).local.x2.size();
    auto const each = [&](int to, int from) {
      for (int w = 0; w < weights; ++w) {
        merge(step, gradient(k, w, to), from < 0 ? nullptr : gradient(k, w, from),
              P::schedule.weight[P::schedule.first_weight[k] + w].count);
      }
      if (stats && from >= 0) merge(step, sum(to), sum(from), stats_size, false);  // as between ranks
    };
    for (int i = 0; i < range.size(); ++i) {
      bool const first = round_ == 0 && i == 0;
      int const p = P::format.ordered ? tree.depth : first ? 0 : 1;
      op::Operands<T> t = operands(k, i);
      if (weights > 0) t.dw0 = gradient(k, 0, p);
      if (weights > 1) t.dw1 = gradient(k, 1, p);
      if (stats) (op(k).sums_batch ? t.stats : t.dstats) = sum(p);
      kernel(step, call, t);
      if (rounded) each(p, -1);
      if (P::format.ordered) {
        tree.push({range.begin + i, 1}, each);
      } else if (!first) {
        each(0, 1);
      }
    }
  }
  void merge(int step, A* to, A* from, long n, bool is_rounded = rounded) {
    Made& a = emit(from ? Act::Merge : Act::Round, step);
    a.to = to;
    a.from = from;
    a.n = n;
    a.rounded = is_rounded;
  }

  Member const& m_;
  schedule::Share const& share_;
  Layout const& layout_;
  std::byte* base_;
  op::Pass const* pass_;
  std::vector<Made> out_;
  int round_ = 0;
  bool training_ = false;
  std::vector<schedule::TreeSum> tree_ = std::vector<schedule::TreeSum>(  // of each node, over the rounds
      static_cast<std::size_t>(P::placed.count), schedule::TreeSum{share_.micro_batches});
  int unclaimed_ = P::schedule.buckets - 1;
};

}  // namespace cleave::backend::host
