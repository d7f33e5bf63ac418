// backend/host/execution/pointers.hpp - from a layout to the operands of a rank's operations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/operands.hpp"
#include "../../../schedule/program.hpp"
#include "../../../schedule/shard.hpp"
#include "../../../schedule/sum_over_ranks.hpp"
#include "../communication/member.hpp"

namespace cleave::backend::host {

/// For one rank of a program, in one round; N is the format of the data.
template <class N> class Pointers {
 public:
  using T = N;
  using A = tensor::accumulate_t<T>;
  using S = tensor::batch_sum_t<T>;

  Pointers(schedule::Program const& program, Member const& m, schedule::Share const& share,
           schedule::LayoutView const& layout, std::byte* base, op::Pass const* pass)
      : program_(program), m_(m), share_(share), layout_(layout), base_(base), weights_base_(base), pass_(pass) {}

  template <class E> E* at(long offset) const { return reinterpret_cast<E*>(base_ + offset); }

 protected:
  schedule::Range slices(schedule::AxisSet cut) const { return m_.slices(share_, cut, round_); }

  schedule::ProgramNode const& node(int k) const { return program_.node[k]; }
  template <class E> E* buffer(int b) const { return b < 0 ? nullptr : at<E>(layout_.buffer_in(program_, b, round_)); }
  int value(int k) const {
    return k < 0 ? program_.input_value : (on_the_way_back_ ? program_.again : program_.value)[k];
  }

  /// The operands of node k on the rank's i-th slice.
  op::Operands<T> operands(int k, int i) const {
    auto const& s = program_;
    schedule::ProgramNode const& n = node(k);
    schedule::Range const range = slices(n.batch_axes);
    long const row = long{i} * program_.rows;
    op::Operands<T> t;
    auto const rows_of = [&](T* p, Shape shape) { return p ? p + row * shape.size() : nullptr; };
    if (n.tokens > 0) {
      t.tokens = buffer<std::int32_t>(program_.input_value) + row * n.local.x.size();
    } else {
      t.x = rows_of(buffer<T>(value(n.in0)), n.local.x);
    }
    if (n.in1 > -2) {
      if (n.stats_input) {
        t.stats = buffer<S>(value(n.in1));
      } else {
        t.x2 = rows_of(buffer<T>(value(n.in1)), n.local.x2);
      }
    }
    if (n.weights > 0) t.w0 = weight(k, 0);
    if (n.weights > 1) t.w1 = weight(k, 1);
    if (s.bias[k] >= 0) t.bias = weight(s.bias[k], 0);
    if (n.sums_batch) {
      t.stats = buffer<S>(value(k));
      t.dstats = buffer<S>(s.gradient[k]);
    } else {
      t.y = rows_of(buffer<T>(value(k)), n.local.y);
      t.dy = rows_of(buffer<T>(s.gradient[k]), n.local.y);
    }
    int const aux = (on_the_way_back_ ? s.aux_again : s.aux)[k];
    if (aux >= 0) t.aux = buffer<A>(aux) + row * n.aux;
    // Its own, or the plan's loss scale for what adds to the gradient of the loss.
    t.state0 = reinterpret_cast<A*>(weights_base_ + layout_.states - weights_first_) +
               (n.states > 0 ? s.state[k] : program_.loss_scale);
    if (n.states > 0) t.state1 = t.state0 + n.state_size;
    int const slot = layout_.slot(program_, n.part, round_);  // of the loss
    t.labels = at<int>(layout_.labels + slot * layout_.labels_apart) + row * program_.labels;
    if (s.targets > 0) t.targets = at<float>(layout_.targets + slot * layout_.targets_apart) + row * program_.targets;
    if (s.weighs_samples)
      t.sample_weights = at<float>(layout_.sample_weights + slot * layout_.sample_weights_apart) + row * s.labels;
    t.loss = at<A>(layout_.losses) + share_.before(m_.replica(), round_, range.begin + i);
    t.scale = A{1} / static_cast<A>(share_.samples);
    t.where.layer = static_cast<std::uint32_t>(n.op);
    t.where.sample = long{range.begin + i} * program_.rows;
    t.where.features = n.features;
    if (n.samples) {
      schedule::LinesHere const here = schedule::lines_here(n, share_.ranks, m_.rank);
      t.where.feature = here.feature;
      t.where.lines = here.lines;
      t.where.line = n.features / n.lines;
    }
    if (n.class_dim > 0)
      t.where.feature = schedule::held_part({n.local.classes}, n.x, n.class_dim, share_.ranks, m_.rank).begin;
    if (n.positions > 0) {
      schedule::HeldPart const here =
          schedule::held_part({n.positions}, n.class_dim > 0 ? n.x : n.y, 1, share_.ranks, m_.rank);
      t.where.position = static_cast<int>(here.begin);
      t.where.positions = static_cast<int>(here.size);
      t.where.of_positions = n.positions;
    }
    if (n.chooses_rows) {
      schedule::HeldPart const rows = schedule::held_part({n.weight[0].shape[0]}, n.w, 0, share_.ranks, m_.rank);
      t.where.row = rows.begin;
      t.where.rows = rows.size;
    }
    t.where.first_slice = i == 0 && round_ == 0;
    t.pass = pass_;
    return t;
  }
  T const* weight(int k, int which) const {
    return reinterpret_cast<T const*>(weights_base_ + layout_.copies - weights_first_) +
           place_of(program_.weight[program_.first_weight[k] + which], layout_.copy);
  }
  /// Branch p of a sum that a rank is taking. The first are where peers read them and the next round finds them.
  A* gradient(int k, int which, int p) const {
    schedule::Weight const w = program_.weight[program_.first_weight[k] + which];
    if (p < layout_.kept) return at<A>(layout_.gradients) + p * layout_.gradient.count + place_of(w, layout_.gradient);
    long const before = which == 0 ? 0 : program_.weight[program_.first_weight[k]].count;
    return at<A>(layout_.scratch) + (p - layout_.kept) * program_.most_weight_leaf + before;
  }
  /// Of a weight, or its gradient.
  long place_of(schedule::Weight const& w, schedule::BucketPlaces const& places) const {
    if (program_.pipeline.is_split()) return w.offset + w.shift;
    for (int b = 0; places.in_turn() && b < program_.buckets; ++b) {
      long const in_bucket = w.offset - program_.bucket[b].offset;
      if (in_bucket >= 0 && in_bucket < program_.bucket[b].count) return places.of(program_.bucket, b) + in_bucket;
    }
    return w.offset;
  }
  S* sum(int p) const { return at<S>(layout_.batch_sums) + p * program_.most_sum_leaf; }

  /// The output of a backward step, from slice i on.
  void aim(op::Operands<T>& t, schedule::Step const& step, int i) const {
    if (step.what != schedule::Do::BackwardInput) return;
    long const row = long{i} * program_.rows;
    t.dx = step.dx < 0 ? nullptr : buffer<T>(step.dx) + row * node(step.node).local.x.size();
    t.dx2 = step.dx2 < 0 ? nullptr : buffer<T>(step.dx2) + row * node(step.node).local.x2.size();
  }
  /// The operands of the operations fused to node k, whose operands are t; stored in `to`, to which t then points.
  void behind(op::Operands<T>& t, op::Operands<T>* to, int k, bool back, int i) const {
    t.tail = to;
    for (int j = 0; j < program_.tail(k, back); ++j) {
      int const m = program_.behind(k, back, j), from = m < 0 ? k : m;
      op::Operands<T>& o = to[j] = operands(from, i);
      o.slices = t.slices;
      if (m < 0) o.dy = t.dx;
      if (back)
        o.dx = buffer<T>(program_.gradient[node(from).in0]) + long{i} * program_.rows * node(from).local.x.size();
    }
  }

  schedule::Program const& program_;
  Member const& m_;
  schedule::Share const& share_;
  schedule::LayoutView const layout_;
  std::byte* base_;
  std::byte* weights_base_;  // of weights and states: the arena, unless several share a block of them,
  long weights_first_ = 0;   // which begins at this offset
  op::Pass const* pass_;
  int round_ = 0;
  bool on_the_way_back_ = false;  // of a step's operands
};

}  // namespace cleave::backend::host
