// schedule/one_walk.hpp - the schedule as one walk over the nodes builds it, to compare the passes with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/schedule/schedule.hpp>

namespace one_walk {
using namespace cleave;
using namespace cleave::schedule;

struct Bucket {
  long offset = 0, count = 0;
  int node = -1;       // the lowest operation in it, whose gradients come last
  int leaf = -1;       // the highest layer
  bool world = false;  // over the model axis too
  int row = 0;         // if set, only nonzero rows of this many elements are sent
  int reads = 0;       // then: how many rows a sample uses
  int factors = 0;     // if set, this many elements of each sample are sent: input and gradient of the product `node`
  bool whole = false;  // never compressed or scheduled
  /// Neither compressed nor scheduled.
  constexpr bool apart() const { return whole || row > 0 || factors > 0; }
};

struct Buffer {
  long elements = 0;  // per micro-batch; for a tensor without batch letter, in total, in the format of such sums
  bool per_slice = true;
  bool rows_cut = false;  // the model axis splits the slices too
  bool wide = false;      // stored in the format of sums, not in that of the data
  Category category = Category::Activations;
  int birth = 0, death = 0;
  int takes_over = -1;  // may begin where this one ends
  int written = 0;      // written by this step; in linked steps tensors are born with the first
};

template <int Ops> struct Schedule {
  static constexpr int most_nodes = Ops * 3 + 2;
  static constexpr int most_buffers = most_nodes * 4 + 4;
  Step step[most_nodes * 4 + 3];
  int steps = 0, forward_steps = 0;
  Weight weight[Ops * 2 + 1];
  int weights = 0;
  Bucket bucket[Ops * 2 + 1];
  int buckets = 0;
  long weight_elements = 0, state_elements = 0;
  long most_weight_leaf = 0, most_sum_leaf = 0;  // the largest sums over the batch that one step takes
  Buffer buffer[most_buffers];
  int buffers = 0;
  // Per node. Buffers, -1 for none.
  int value[most_nodes], aux[most_nodes], gradient[most_nodes];
  int first_weight[most_nodes];           // index into weight
  long state[most_nodes];                 // offset into the states
  int bias[most_nodes], map[most_nodes];  // operations (nodes) merged into this one
  int head[most_nodes];                   // the node that this one is merged into, or itself
  // The number of element-wise operations after a node that are fused to its forward step, and before it that are fused
  // to the step of its input gradient. `in_tail`: the node is one of those.
  int forward_tail[most_nodes]{}, backward_tail[most_nodes]{};
  bool in_forward_tail[most_nodes]{}, in_backward_tail[most_nodes]{};
  bool adds[most_nodes]{};  // the gradient of its input is first added to that of another reader
  int input_value = -1, input_gradient = -1;
  long targets = 0;  // numbers of a sample that the loss uses; 0 if it uses a class
  bool needs_gradient[most_nodes];
};

template <int Ops> struct Draft {
  place::Signatures<Ops> const& model;
  place::Placed<Ops> const& placed;
  place::Request request;
  Schedule<Ops> out{};
  int readers[Schedule<Ops>::most_nodes + 1]{};  // of node k - 1; [0] is the input
  int heard[Schedule<Ops>::most_nodes +
            1]{};  // of these, the ones whose part of its gradient is computed, or about to be
  constexpr place::Node const& node(int k) const { return placed.node[k]; }
  constexpr place::Signature const& op(int k) const { return model.op[placed.node[k].op]; }
  constexpr bool is_op(int k) const { return placed.node[k].op >= 0; }
  constexpr bool rows_cut(int k) const {
    return k < 0 ? placed.input.on[1] == place::shard(place::batch) : node(k).batch_axes.has(1);
  }
  constexpr bool needs(int k) const { return k == -1 ? request.input_gradient : k >= 0 && out.needs_gradient[k]; }

  constexpr void prepare() {
    for (int k = 0; k < placed.count; ++k) {
      out.value[k] = out.aux[k] = out.gradient[k] = out.bias[k] = out.map[k] = -1;
      out.head[k] = k;
      readers[node(k).in0 + 1]++;
      if (node(k).in1 > -2) readers[node(k).in1 + 1]++;
      bool const learned = is_op(k) && op(k).weights > 0;
      bool const passes = node(k).op < 0 || op(k).has_gradient;
      out.needs_gradient[k] = passes && (learned || needs(node(k).in0) || needs(node(k).in1));
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
        bool const world = node(k).w.on[1].kind == place::Kind::Replicate;
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
      out.state_elements += op(k).states * place::algebra::cut(op(k).state, node(k).w, request.mesh, 0).size();
    }
  }
  /// From the last layer on, in the order in which gradients are computed. Rows and factors are sent separately. With
  /// one micro-batch there is no other rank to send to, and weights are updated as their gradients are computed.
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
  /// A bias after the product is free. Cheaper means: over all ranks, (n-1) batch (K + N) against 2 (n-1) K N.
  constexpr void offer_factors(Bucket& b, int k) const {
    long const each = node(k).local.x.size() + node(k).local.y.size(),
               batch = long{request.rows} * request.micro_batches, weights = node(k).local.w0.size();
    if (op(k).factors == place::Factors::Never) return;
    bool const may = request.rounds == 1 && request.together;  // else they are not available together, or a server sums
    if (op(k).factors == place::Factors::WhereCheaper && !(may && batch * each < 2 * weights)) return;
    b.factors = static_cast<int>(each);
  }
  constexpr bool merges(int k, bool bias) const {
    int const next = k + 1;
    return next < placed.count && is_op(next) && node(next).in0 == k && node(next).in1 == -2 && op(next).mergeable &&
           readers[k + 1] == 1 && (op(next).weights == 1) == bias;
  }
};

template <int Ops> struct Builder : Draft<Ops> {
  using Base = Draft<Ops>;
  using Base::heard;
  using Base::is_op;
  using Base::model;
  using Base::needs;
  using Base::node;
  using Base::op;
  using Base::out;
  using Base::placed;
  using Base::readers;
  using Base::request;
  using Base::rows_cut;
  bool handed_on[Schedule<Ops>::most_nodes]{};  // the gradient of its output is passed to its inputs
  int first_linked = -1;                        // first of the linked steps under construction

  constexpr int& gradient(int k) { return k < 0 ? out.input_gradient : out.gradient[k]; }
  constexpr int value(int k) const { return k < 0 ? out.input_value : out.value[k]; }

  constexpr int buffer(long elements, bool per_slice, bool rows, bool wide, Category c, int takes_over = -1) {
    int const birth = first_linked < 0 ? out.steps : first_linked;
    out.buffer[out.buffers] = {elements, per_slice, rows, wide, c, birth, out.steps, takes_over, out.steps};
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

  constexpr long elements(Shape s) const { return s.size() * request.rows; }

  /// A product with few columns. A device computes all rows of several consecutive ones in one kernel. None of their
  /// tensors overlaps one that another reads: rows are independent.
  constexpr bool narrow(int k) const {
    if (!is_op(k) || !op(k).contracts || node(k).local.w0.dims != 2 || node(k).in1 > -2) return false;
    int const in = node(k).local.w0[0], of = node(k).local.w0[1];
    return in <= most_narrow && of <= most_narrow && node(k).local.x.size() == in && node(k).local.y.size() == of;
  }
  constexpr bool may_link(Do what, int k) const {
    if (out.steps == 0) return false;
    Step const last = out.step[out.steps - 1];
    return last.what == what && narrow(last.node) && narrow(k) && rows_cut(last.node) == rows_cut(k);
  }
  /// Whether the step of node k, which is next, is linked to the last one. Then its tensors are born with the first of
  /// them.
  constexpr bool link(Do what, int k) {
    if (!may_link(what, k)) return false;
    first_linked = out.steps - 1;
    while (out.step[first_linked].linked) --first_linked;
    return true;
  }
  constexpr void linked(int at, bool is) {
    out.step[at].linked = is;
    first_linked = -1;
  }

  /// Element-wise, from node k - 1 and an earlier value, without weights or state.
  constexpr bool goes_along(int k) const {
    return k > 0 && k < placed.count && is_op(k) && is_op(k - 1) && node(k).in0 == k - 1 && op(k).pointwise &&
           !op(k).stats_input && op(k).aux(node(k).local.x, node(k).local.y) == 0 && rows_cut(k) == rows_cut(k - 1) &&
           node(k).local.x == node(k).local.y;
  }
  /// The element-wise operations fused to k's step. Its buffers are born in that step, so that none of them overlaps
  /// what the step reads; an operation may take its input's place.
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
    bool tokens = false;  // these have 32 bits
    for (int k = 0; k < placed.count; ++k) tokens = tokens || (placed.node[k].op >= 0 && op(k).tokens > 0);
    out.input_value = buffer(elements(placed_input()), true, rows_cut(-1), tokens, Category::Activations);
    for (int k = 0; k < placed.count; ++k) {
      if (out.head[k] != k) {  // already part of its head's step
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
      bool const to_last = link(Do::Forward, k);
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
      linked(out.steps - 1, to_last);
    }
    out.forward_steps = out.steps;
    use(value(placed.last));  // read after the step, for the accuracy
  }
  constexpr Shape placed_input() const {
    Shape const x = model.op[0].x;
    return place::algebra::cut(x, placed.input, request.mesh, model.op[0].x_at.beyond_shape());
  }

  /// Where a reader of value k writes that value's gradient: the first creates it, a later one writes beside it.
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
  constexpr void inherit(int k, int contribution) {
    ++heard[k + 1];
    gradient(k) = contribution;
  }
  constexpr void alias(int k, int contribution) {
    if (gradient(k) < 0) return inherit(k, contribution);
    ++heard[k + 1];
    add(k, contribution);
  }

  constexpr void read_back(int k) {
    place::Signature const& s = op(k);
    use(out.gradient[k]);
    use(out.aux[k]);
    if (s.reads_x) use(value(node(k).in0));
    if (s.reads_y) use(out.value[k]);
    if (node(k).in1 > -2 && (s.reads_x || s.stats_input)) use(value(node(k).in1));
  }
  constexpr void hand_on(int k) {
    int const in0 = node(k).in0, in1 = node(k).in1;
    bool const first = needs(in0), second = in1 > -2 && !op(k).stats_input && needs(in1);
    if (!(first || second) || out.in_backward_tail[k] || handed_on[k]) return;
    bool const to_last = link(Do::BackwardInput, k);
    int const at = out.steps;
    read_back(k);
    pass_back(k, first, second);
    handed_on[k] = true;
    linked(at, to_last);
  }
  /// The backward pass continues from the small product k to n before any weight gradient: another small product, or a
  /// node without a step between them. (A bias's gradient is also its input's, to which no other reader may then add.)
  constexpr bool follows_back(int n, int k) const {
    if (out.in_backward_tail[n]) return true;
    bool const bias = is_op(n) && op(n).mergeable && op(n).weights > 0 && readers[node(n).in0 + 1] == 1;
    return (bias || may_link(Do::BackwardInput, n)) && node(n).in1 == -2 && needs(node(n).in0) &&
           heard[n + 1] == readers[n + 1] && rows_cut(n) == rows_cut(k);
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
      hand_on(k);
      for (int n = k - 1; narrow(k) && handed_on[k] && n >= 0 && follows_back(n, k); --n) hand_on(n);
      if (s.weights > 0) {  // after the gradient of the input, which needs the old weights
        read_back(k);
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
    if (request.waits_for_norm) emit(Do::Norm, -1);
    for (int b = out.buckets - 1; b >= 0; --b) emit(Do::Update, b);
  }

  /// The element-wise operations fused to the step that computes k's input gradient, if no other reader adds to it.
  constexpr void trail(int k) {
    auto const whole = [&](int m) {
      return readers[m + 1] == 1 || (m == k - 1 && out.adds[k] && heard[m + 1] == readers[m + 1]);
    };
    for (int m = k - 1; m >= 0 && node(m + 1).in0 == m && whole(m) && goes_along(m); --m) {
      int const in0 = node(m).in0;
      if (node(m).in1 > -2 || !needs(in0) || readers[m] != 1 || rows_cut(m) != rows_cut(k)) return;
      use(out.gradient[m]);
      if (op(m).reads_x) use(value(in0));
      if (op(m).reads_y) use(out.value[m]);
      if (out.head[m] != m) {
        inherit(in0, out.gradient[m]);
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
    if (s.mergeable && s.weights > 0) {  // a bias passes its gradient on unchanged
      alias(in0, out.gradient[k]);
      return;
    }
    if (merged) {  // a map's gradient takes its place
      inherit(in0, out.gradient[k]);
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
  Builder<Ops> b{{model, placed, request}};
  b.prepare();
  if (model.op[Ops - 1].target != op::Target::Class) b.out.targets = model.op[Ops - 1].x.size();
  b.join_buckets();
  b.forward();
  b.backward();
  return b.out;
}

}  // namespace one_walk
