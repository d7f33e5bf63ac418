// schedule/build.hpp - from a placed model to its schedule: steps in order, weights in buckets, tensors with their lives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../place/place.hpp"
#include "schedule.hpp"

namespace cleave::schedule {

template <int Ops> struct Builder {
  place::Signatures<Ops> const& model;
  place::Placed<Ops> const& placed;
  place::Request request;
  Schedule<Ops> out{};
  int readers[Schedule<Ops>::most_nodes + 1]{};  // of node k - 1; [0] is the input
  int heard[Schedule<Ops>::most_nodes + 1]{};    // of those, whose part of its gradient is made, or is about to be

  constexpr place::Node const& node(int k) const { return placed.node[k]; }
  constexpr place::Signature const& op(int k) const { return model.op[placed.node[k].op]; }
  constexpr bool is_op(int k) const { return placed.node[k].op >= 0; }
  constexpr bool rows_cut(int k) const { return k < 0 ? placed.input == place::shard(place::batch) : node(k).rows_cut; }
  constexpr bool needs(int k) const { return k == -1 ? request.input_gradient : k >= 0 && out.needs_gradient[k]; }
  constexpr int& gradient(int k) { return k < 0 ? out.input_gradient : out.gradient[k]; }
  constexpr int value(int k) const { return k < 0 ? out.input_value : out.value[k]; }

  constexpr int buffer(long elements, bool per_slice, bool rows, bool wide, Category c, int takes_over = -1) {
    out.buffer[out.buffers] = {elements, per_slice, rows, wide, c, out.steps, out.steps, takes_over};
    return out.buffers++;
  }
  constexpr void use(int b) {
    if (b >= 0) out.buffer[b].death = out.steps;
  }
  constexpr void emit(Do what, int k, int dx = -1, int dx2 = -1) {
    use(dx);
    use(dx2);
    out.step[out.steps++] = {what, k, dx, dx2};
  }

  constexpr void prepare() {
    for (int k = 0; k < placed.count; ++k) {
      out.value[k] = out.aux[k] = out.gradient[k] = out.bias[k] = out.map[k] = -1;
      out.head[k] = k;
      readers[node(k).in0 + 1]++;
      if (node(k).in1 > -2) readers[node(k).in1 + 1]++;
      bool const learned = is_op(k) && op(k).weights > 0;
      out.needs_gradient[k] = learned || needs(node(k).in0) || needs(node(k).in1);
    }
    for (int k = 0; k < placed.count; ++k) {  // a bias, then a map, directly behind a product
      if (!is_op(k) || !op(k).contracts) continue;
      int last = k;
      if (merges(last, true)) out.head[++last] = k, out.bias[k] = last;
      if (merges(last, false)) out.head[++last] = k, out.map[k] = last;
    }
    for (int k = 0; k < placed.count; ++k) {
      if (!is_op(k)) continue;
      out.first_weight[k] = out.weights;
      long leaf = 0;
      long const sum = op(k).sums_batch ? node(k).local.y.size() : op(k).stats_input ? node(k).local.x2.size() : 0;
      for (int w = 0; w < op(k).weights; ++w) {
        long const count = (w == 0 ? node(k).local.w0 : node(k).local.w1).size();
        bool const world = node(k).w[w].kind == place::Kind::Replicate;
        Bucket* last = out.buckets > 0 ? &out.bucket[out.buckets - 1] : nullptr;
        int const row = op(k).sparse_row, reads = row > 0 ? static_cast<int>(node(k).local.x.size()) : 0;
        if (!last || last->leaf != op(k).leaf || last->world != world || last->row != row) {
          out.bucket[out.buckets++] = {out.weight_elements, 0, k, op(k).leaf, world, row, reads};
          last = &out.bucket[out.buckets - 1];
        }
        last->count += count;
        out.weight[out.weights++] = {k, w, out.weight_elements, count};
        out.weight_elements += count;
        leaf += count;
      }
      if (op(k).contracts && op(k).weights > 0) offer_factors(out.bucket[out.buckets - 1], k);
      if (leaf > out.most_weight_leaf) out.most_weight_leaf = leaf;
      if (sum > out.most_sum_leaf) out.most_sum_leaf = sum;
      out.state[k] = out.state_elements;
      out.state_elements += op(k).states * place::algebra::cut(op(k).state, node(k).w[0], request.ways).size();
    }
  }
  /// From the last layer on, in the order in which gradients are made. Rows and factors go alone. With one micro-batch
  /// there is nobody to send to, and weights are stepped as their gradients are made.
  constexpr void join_buckets() {
    if (request.bucket == 0 || request.micro_batches == 1) return;
    int into = out.buckets - 1;
    for (int b = into - 1; b >= 0; --b) {
      Bucket& last = out.bucket[into];
      Bucket const& next = out.bucket[b];
      bool const alike = last.world == next.world && last.row + next.row + last.factors + next.factors == 0;
      if (alike && last.count < request.bucket) {
        last.offset = next.offset;
        last.count += next.count;
        last.node = next.node;
      } else {
        out.bucket[--into] = next;
      }
    }
    for (int b = 0; into + b < out.buckets; ++b) out.bucket[b] = out.bucket[into + b];
    out.buckets -= into > 0 ? into : 0;
  }
  /// A bias behind the product costs nothing more. Cheaper: over all ranks, (n-1) batch (K + N) against 2 (n-1) K N.
  constexpr void offer_factors(Bucket& b, int k) const {
    long const each = node(k).local.x.size() + node(k).local.y.size(),
               batch = long{request.rows} * request.micro_batches, weights = node(k).local.w0.size();
    if (op(k).factors == place::Factors::Never) return;
    bool const may = request.rounds == 1 && request.together;  // else they are not there at once, or go to a server
    if (op(k).factors == place::Factors::WhereCheaper && !(may && batch * each < 2 * weights)) return;
    b.factors = static_cast<int>(each);
  }
  constexpr bool merges(int k, bool bias) const {
    int const next = k + 1;
    return next < placed.count && is_op(next) && node(next).in0 == k && node(next).in1 == -2 && op(next).mergeable &&
           readers[k + 1] == 1 && (op(next).weights == 1) == bias;
  }

  constexpr long elements(Shape s) const { return s.size() * request.rows; }

  /// Element by element, from node k - 1 and what was there before, with nothing to learn or to keep.
  constexpr bool goes_along(int k) const {
    return k > 0 && k < placed.count && is_op(k) && is_op(k - 1) && node(k).in0 == k - 1 && op(k).pointwise &&
           !op(k).stats_input && op(k).aux(node(k).local.x, node(k).local.y) == 0 &&
           node(k).rows_cut == node(k - 1).rows_cut && node(k).local.x == node(k).local.y;
  }
  /// What is done with k's output in the step that makes it. Its buffers are born in that step, so that none of them
  /// stands where the step reads; an operation may take its own input's place.
  constexpr void follow(int k) {
    int last = k;
    for (; last + 1 < placed.count && out.head[last + 1] == k; ++last) out.value[last + 1] = out.value[k];
    for (int n = last + 1; n < placed.count && out.head[n] == n && goes_along(n) && !op(k).sums_batch; ++n) {
      use(value(node(n).in0));
      if (node(n).in1 > -2) {
        use(value(node(n).in1));
        for (int m = k; m < n; ++m) {  // what is read here stays until then
          int& from = out.buffer[out.value[m]].takes_over;
          if (from == value(node(n).in1)) from = -1;
        }
      }
      out.value[n] = buffer(elements(node(n).local.y), true, rows_cut(n), false, Category::Activations,
                            readers[n] == 1 ? value(n - 1) : -1);
      use(out.value[n]);
      out.in_forward_tail[n] = true;
      ++out.forward_tail[k];
    }
  }

  constexpr void forward() {
    out.input_value = buffer(elements(placed_input()), true, rows_cut(-1), false, Category::Activations);
    for (int k = 0; k < placed.count; ++k) {
      if (out.head[k] != k) {  // already done with its head
        out.value[k] = out.value[out.head[k]];
        continue;
      }
      if (out.in_forward_tail[k]) continue;
      use(value(node(k).in0));
      if (node(k).in1 > -2) use(value(node(k).in1));
      if (!is_op(k)) {
        if (node(k).conversion.forward == op::Verb::None) {
          out.value[k] = value(node(k).in0);
          continue;
        }
        out.value[k] = buffer(elements(node(k).local.y), true, rows_cut(k), false, Category::Communication);
        emit(Do::Convert, k, out.value[k]);
        continue;
      }
      place::Signature const& s = op(k);
      if (s.sums_batch) {
        out.value[k] = buffer(node(k).local.y.size(), false, false, true, Category::Activations);
        emit(Do::Forward, k, out.value[k]);
        emit(Do::Sum, k, out.value[k]);
        continue;
      }
      if (!s.is_loss) {
        int const from = s.elementwise ? value(node(k).in0) : -1;
        out.value[k] = buffer(elements(node(k).local.y), true, rows_cut(k), false, Category::Activations, from);
      }
      long const aux = s.aux(node(k).local.x, node(k).local.y);
      if (aux > 0) out.aux[k] = buffer(aux * request.rows, true, rows_cut(k), true, Category::Activations);
      use(out.aux[k]);
      if (!s.is_loss) follow(k);
      emit(Do::Forward, k, out.value[k]);
    }
    out.forward_steps = out.steps;
    use(value(placed.last));  // read after the step, for the accuracy
  }
  constexpr Shape placed_input() const {
    Shape const x = model.op[0].x;
    return place::algebra::cut(x, placed.input, request.ways);
  }

  /// Where a reader of value k writes that value's gradient: the first makes it, a later one writes beside it.
  constexpr int target(int k, int takes_over = -1) {
    Shape const shape = k < 0 ? placed_input() : node(k).local.y;
    int const b = buffer(elements(shape), true, rows_cut(k), false, Category::Activations, takes_over);
    if (gradient(k) < 0) gradient(k) = b;
    ++heard[k + 1];
    return b;
  }
  constexpr void add(int k, int contribution) {
    if (contribution < 0 || gradient(k) == contribution) return;
    use(contribution);
    emit(Do::Add, k, gradient(k), contribution);
  }
  constexpr void alias(int k, int contribution) {
    ++heard[k + 1];
    if (gradient(k) < 0) {
      gradient(k) = contribution;
    } else {
      add(k, contribution);
    }
  }

  constexpr void backward() {
    for (int k = placed.count - 1; k >= 0; --k) {
      if (!out.needs_gradient[k]) continue;
      int const in0 = node(k).in0, in1 = node(k).in1;
      if (!is_op(k)) {
        use(out.gradient[k]);
        if (!needs(in0)) continue;
        if (node(k).conversion.backward == op::Verb::None) {
          alias(in0, out.gradient[k]);
          continue;
        }
        int const dx = target(in0);
        out.buffer[dx].category = Category::Communication;
        emit(Do::ConvertBack, k, dx);
        add(in0, dx);
        continue;
      }
      place::Signature const& s = op(k);
      auto const read = [&] {
        use(out.gradient[k]);
        use(out.aux[k]);
        if (s.reads_x) use(value(in0));
        if (s.reads_y) use(out.value[k]);
        if (s.stats_input) use(value(in1));
      };
      bool const first = needs(in0), second = in1 > -2 && !s.stats_input && needs(in1);
      if ((first || second) && !out.in_backward_tail[k]) {
        read();
        pass_back(k, first, second);
      }
      if (s.weights > 0) {  // behind the gradient of the input, which wants the weights as they were
        read();
        if (s.stats_input) {
          out.gradient[in1] = buffer(node(in1).local.y.size(), false, false, true, Category::Activations);
          emit(Do::BackwardWeight, k, out.gradient[in1]);
          emit(Do::SumBack, in1, out.gradient[in1]);
        } else {
          emit(Do::BackwardWeight, k);
        }
        for (int b = 0; b < out.buckets; ++b) {
          if (out.bucket[b].node == k) emit(Do::Start, b);
        }
      }
    }
    for (int b = out.buckets - 1; b >= 0; --b) emit(Do::Update, b);
  }

  /// What is done with the gradient that k hands on in the step that makes it, where nobody adds to it any more.
  constexpr void trail(int k) {
    auto const whole = [&](int m) {
      return readers[m + 1] == 1 || (m == k - 1 && out.adds[k] && heard[m + 1] == readers[m + 1]);
    };
    for (int m = k - 1; m >= 0 && node(m + 1).in0 == m && whole(m) && goes_along(m); --m) {
      int const in0 = node(m).in0;
      if (node(m).in1 > -2 || !needs(in0) || readers[m] != 1 || node(m).rows_cut != node(k).rows_cut) return;
      use(out.gradient[m]);
      if (op(m).reads_x) use(value(in0));
      if (op(m).reads_y) use(out.value[m]);
      if (out.head[m] != m) {
        out.gradient[in0] = out.gradient[m];
      } else {
        use(target(in0, out.gradient[m]));
      }
      out.in_backward_tail[m] = true;
      ++out.backward_tail[k];
    }
  }

  constexpr void pass_back(int k, bool first, bool second) {
    place::Signature const& s = op(k);
    int const in0 = node(k).in0, in1 = node(k).in1;
    bool const merged = out.head[k] != k;
    if (s.mergeable && s.weights > 0) {  // a bias hands its gradient on as it is
      alias(in0, out.gradient[k]);
      return;
    }
    if (merged) {  // a map's gradient takes its place
      out.gradient[in0] = out.gradient[k];
      emit(Do::BackwardInput, k, out.gradient[k]);
      return;
    }
    int const from = s.elementwise && s.weights == 0 && in1 == -2 ? out.gradient[k] : -1;
    int const dx = first ? target(in0, from) : -1;
    int const dx2 = second ? target(in1) : -1;
    out.adds[k] = first && !second && in0 >= 0 && gradient(in0) != dx && rows_cut(in0) == rows_cut(k);
    if (out.adds[k]) use(gradient(in0));
    if (first && !second) trail(k);
    emit(Do::BackwardInput, k, dx, dx2);
    if (first && !out.adds[k]) add(in0, dx);
    if (second) add(in1, dx2);
  }
};

template <int Ops>
constexpr Schedule<Ops> build(place::Signatures<Ops> const& model, place::Placed<Ops> const& placed,
                              place::Request request) {
  Builder<Ops> b{model, placed, request, {}, {}, {}};
  b.prepare();
  b.join_buckets();
  b.forward();
  b.backward();
  return b.out;
}

}  // namespace cleave::schedule
