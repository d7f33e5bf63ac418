// place/signature.hpp - a model's operations as values: equation, whole shapes, weights, inputs. No types after this.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <initializer_list>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "../layer/graph.hpp"
#include "../op/equation.hpp"
#include "../op/operands.hpp"
#include "../op/tied.hpp"
#include "../op/windows.hpp"
#include "laws.hpp"

namespace cleave::place {

/// Written by the user where a sum is to be taken; elsewhere the algebra inserts it.
struct Reduce : op::Base {
  static constexpr auto name = "all_reduce";
  static constexpr auto equation = "b*->b*";
  static constexpr bool linear = true;
  static constexpr Shape output(Shape x) { return x; }
};

/// Whether a product's gradient is sent as its factors.
enum class Factors : unsigned char { Never, Always, WhereCheaper };

struct Signature {
  op::Subscripts x_at, x2_at, w_at, y_at;
  std::string_view name;
  std::string_view const *weight_names = nullptr, *state_names = nullptr;
  Shape x, x2, y, state;
  op::Weight w[2];
  int in0 = -1, in1 = -2, leaf = 0, segment = 0, weights = 0, states = 0, tokens = 0, sparse_row = 0, labels = 1;
  int (*parts)(char, int) = nullptr;
  long (*aux)(Shape, Shape) = nullptr;
  bool linear = false, elementwise = false, pointwise = false, contracts = false, is_loss = false, sums_batch = false;
  bool reads_x = false, reads_y = false, written = false, mergeable = false, whole_numbers = false;
  bool weights_after_input = false, keeps_zeros = false, sums_in_blocks = false;
  bool dispatches = false, finds_classes = false, has_gradient = true, of_loss = false, reads_class_sums = false;
  bool weighs_samples = false;
  long work = 0;
  Factors factors = Factors::Never;
  op::Target target = op::Target::Class;  // of a loss
  bool stats_input = false;               // the second input has no batch letter: it is a sum over the batch
  float averages = 0;                     // as of an operation
  int groups = 1;                         // of channels, if ranks may have unequally many
  layer::StageWish wish;
  op::Windows windows;
  op::Tie tie = op::Tie::None;
  int tied = -1;  // the operation with which it shares its weight

  constexpr bool reads_tied() const { return tie == op::Tie::Reads; }
};

template <int N> struct Signatures {
  Signature op[N < 1 ? 1 : N];
  static constexpr int count = N;
  bool segments = false;  // some operations are of one (layer/recompute.hpp)
  Verdict verdict;
};

/// Of how many groups a rank may have more than another; 1: of none.
template <class Op> constexpr int unequal_groups_of() {
  if constexpr (requires { Op::unequal_groups; }) return Op::unequal_groups ? Op::groups : 1;
  return 1;
}
/// Then they lie in the output.
template <class Op> constexpr bool windows_are_transposed() {
  if constexpr (requires { Op::windows; }) return Op::windows.transposed;
  return false;
}
template <class Op> constexpr Verdict shape_law_of_sample(Shape x, Shape x2, int leaf) {
  if constexpr (requires { Op::kernel; }) {
    if (x.dims != 3) return {Law::Dimensions, x.dims, 3, leaf};
    int const side = x[1] < x[2] ? x[1] : x[2];
    if (!windows_are_transposed<Op>() && Op::reach > side + 2 * Op::pad)
      return {Law::Window, side + 2 * Op::pad, Op::reach, leaf};
  }
  if constexpr (requires { Op::of_images; }) {
    if (x.dims != 3) return {Law::Dimensions, x.dims, 3, leaf};
  }
  if constexpr (requires { Op::groups; }) {
    if (x[0] % Op::groups != 0) return {Law::GroupsOfChannels, x[0], Op::groups, leaf};
  }
  if constexpr (requires {
                  requires Op::is_loss && Op::classes >
                  0;
                }) {
    if (x.size() != Op::classes) return {Law::Classes, static_cast<int>(x.size()), Op::classes, leaf};
  }
  if constexpr (requires { Op::groups, Op::filters; }) {
    if (Op::filters % Op::groups != 0) return {Law::GroupsOfChannels, Op::filters, Op::groups, leaf};
  }
  if constexpr (
      requires { Op::takes_mask; } || requires { Op::reads_class_sums; }) {
    return {};
  } else if constexpr (requires { Op::joins(x, x2); }) {
    if (!Op::joins(x, x2)) return {Law::Factors, static_cast<int>(x.size()), static_cast<int>(x2.size()), leaf};
  } else if constexpr (requires { Op::concatenates(x, x2); }) {
    int const a = x.dims == 2 ? x[0] : static_cast<int>(x.stride(0)),
              b = x2.dims == 2 ? x2[0] : static_cast<int>(x2.stride(0));
    if (!Op::concatenates(x, x2)) return {Law::Joined, a, b, leaf};
  } else if constexpr (Op::inputs == 2 && Op::weights == 0) {
    if (!(x == x2)) return {Law::Joined, static_cast<int>(x.size()), static_cast<int>(x2.size()), leaf};
  }
  return {};
}

template <class Op> constexpr Verdict shape_law(Shape x, Shape x2, int leaf) {
  if constexpr (requires { Op::of_sequences; }) {
    if (x.dims < 2) return {Law::Sequence, x.dims, 2, leaf};
  }
  if constexpr (
      requires { Op::heads; } || requires { Op::chooses_experts; }) {
    if (x.dims != 2) return {Law::Sequence, x.dims, 2, leaf};
  }
  if constexpr (requires { Op::takes_mask; }) {
    if (x2.dims != 1 || x2[0] != x[0]) return {Law::Padding, x[0], x2.dims == 1 ? x2[0] : 0, leaf};
  }
  if constexpr (requires { Op::sees_all_positions; }) return {Law::OnePosition, 0, 0, leaf};
  if constexpr (requires { Op::heads; }) {
    if (x[1] % Op::heads != 0) return {Law::Heads, x[1], Op::heads, leaf};
  }
  if constexpr (requires { Op::of_pairs; }) {
    if (x[x.dims - 1] % 2 != 0) return {Law::Pairs, x[x.dims - 1], 2, leaf};
  }
  if constexpr (requires { typename Op::of_position; }) {
    return shape_law<typename Op::of_position>(x.below(), x2, leaf);
  } else {
    return shape_law_of_sample<Op>(x, x2, leaf);
  }
}

/// How many different names an operation has for its weights and states.
template <class Op> constexpr int names_of_tensors() {
  std::string_view all[Op::weights + Op::states + 1];
  int count = 0;
  auto const add = [&](auto const& names, int wanted) {
    int const given = static_cast<int>(std::size(names));
    for (int i = 0; i < wanted && i < given; ++i) {
      bool known = false;
      for (int k = 0; k < count; ++k) known = known || all[k] == names[i];
      if (!known) all[count++] = names[i];
    }
  };
  static_cast<void>(Op::weight_names[0]);  // else nvcc's front end does not know its size in a template
  add(Op::weight_names, Op::weights);
  static_cast<void>(Op::state_names[0]);
  add(Op::state_names, Op::states);
  return count;
}

template <class Op> constexpr Signature signature(Shape x, Shape x2) {
  Signature s;
  s.name = Op::name;
  s.x = x;
  s.x2 = x2;
  if constexpr (requires { Op::output(x, x2); }) {
    s.y = Op::output(x, x2);
  } else {
    s.y = Op::output(x);
  }
  s.weights = Op::weights;
  for (int k = 0; k < Op::weights; ++k) s.w[k] = Op::weight(k, x);
  op::Equation const equation(Op::equation, Op::weights > 0);
  s.x_at = op::Subscripts(equation.x, 1 + x.dims);
  s.x2_at = op::Subscripts(equation.x2, 1 + x2.dims);
  s.w_at = op::Subscripts(equation.w, s.w[0].shape.dims);
  s.y_at = op::Subscripts(equation.y, 1 + s.y.dims);
  // Where a letter is summed over, an index of the input's dimension stands for several of the weight's.
  int const summed = s.weights > 0 && !s.y_at.has(s.w_at[0]) ? s.x_at.dim(s.w_at[0]) - s.x_at.beyond_shape() : -1;
  for (int k = 0; k < s.weights && summed >= 0; ++k) {
    if (s.w[k].shape[0] % x[summed] == 0) s.w[k].unit = s.w[k].shape[0] / x[summed];
  }
  s.states = Op::states;
  s.averages = Op::averages;
  s.weight_names = Op::weight_names;
  s.state_names = Op::state_names;
  s.tokens = Op::tokens;
  s.whole_numbers = Op::whole_numbers;
  s.sparse_row = Op::sparse_row;
  s.labels = Op::labels(x);
  s.state = Op::state(x);
  s.parts = Op::parts;
  s.aux = Op::aux;
  s.linear = Op::linear;
  s.keeps_zeros = Op::linear || Op::keeps_zeros;
  s.elementwise = Op::elementwise;
  s.pointwise = Op::elementwise && Op::pointwise && Op::weights + Op::states == 0 && !Op::is_loss;
  s.contracts = Op::contracts;
  s.groups = unequal_groups_of<Op>();
  if constexpr (requires { Op::windows; }) s.windows = Op::windows;
  s.sums_in_blocks = op::sums_in_blocks<Op>;
  s.is_loss = Op::is_loss;
  s.target = Op::loss_target;
  s.weighs_samples = Op::weighs_samples;
  s.sums_batch = Op::sums_batch;
  s.reads_x = Op::reads_x;
  s.reads_y = Op::reads_y;
  s.weights_after_input = Op::weights_after_input;
  s.work = Op::work(x);
  s.dispatches = !Op::contracts && requires { Op::of_experts; };
  s.finds_classes = Op::finds_classes;
  s.has_gradient = Op::has_gradient;
  s.of_loss = Op::of_loss;
  s.reads_class_sums = requires { Op::reads_class_sums; };
  s.tie = op::tie_of<Op>;
  s.written = std::is_same_v<Op, Reduce>;
  // May be fused to a product: a bias, or a map whose derivative is a function of its output.
  s.mergeable = Op::elementwise && !Op::reads_x && (Op::weights == 1 || requires { typename Op::function; });
  return s;
}

/// Two operations have one weight: each is told of the other, if there are two and their extents agree.
template <int N> constexpr void tie(Signatures<N>& of) {
  int has = -1, reads = -1, tables = 0, readers = 0;
  for (int k = 0; k < N; ++k) {
    if (of.op[k].tie == op::Tie::Has) has = k, ++tables;
    if (of.op[k].tie == op::Tie::Reads) reads = k, ++readers;
  }
  if (tables + readers == 0) return;
  int const leaf = of.op[reads < 0 ? has : reads].leaf;
  if (tables != 1 || readers != 1 || reads < has) {
    of.verdict = {Law::TiedLayers, tables, readers, leaf};
    return;
  }
  Signature &table = of.op[has], &reader = of.op[reads];
  if (!(table.w[0].shape == reader.w[0].shape) || table.y.size() != reader.x.size()) {
    of.verdict = {Law::TiedExtents, static_cast<int>(reader.w[0].shape.size()),
                  static_cast<int>(table.w[0].shape.size()), leaf};
    return;
  }
  table.tied = reads;
  reader.tied = has;
}

/// Shapes are inferred from the input on; keeps the first violation on the way.
template <class Model, class... Ops> constexpr auto signatures(meta::list<Ops...>) {
  constexpr int n = sizeof...(Ops);
  layer::Graph<n> graph;
  Model::connect(graph);
  Signatures<n> out;
  int k = 0, losses = 0;
  auto const add = [&]<class Op>(meta::type<Op>) {
    if (out.verdict.law != Law::None) return;
    int const in0 = graph.in0[k], in1 = graph.in1[k];
    Shape const x = in0 < 0 ? Model::input::shape : out.op[in0].y;
    Shape const x2 = in1 < -1 ? Shape{} : in1 < 0 ? Model::input::shape : out.op[in1].y;
    out.verdict = shape_law<Op>(x, x2, graph.leaf[k]);
    if constexpr (requires { typename Op::all_inputs; }) {
      if (!std::is_same_v<typename Op::all_inputs, typename Model::input>)
        out.verdict = {Law::Inputs, static_cast<int>(x.size()), Op::all_inputs::whole, graph.leaf[k]};
    }
    if constexpr (Op::weights + Op::states > 0) {
      constexpr int tensors = Op::weights + Op::states, names = names_of_tensors<Op>();
      if (out.verdict.law == Law::None && names < tensors) out.verdict = {Law::Names, tensors, names, graph.leaf[k]};
    }
    if (out.verdict.law != Law::None) return;
    out.op[k] = signature<Op>(x, x2);
    out.op[k].in0 = in0;
    out.op[k].in1 = in1;
    out.op[k].leaf = graph.leaf[k];
    out.op[k].segment = graph.segment[k];
    out.op[k].wish = graph.wish[k];
    out.segments = out.segments || graph.segment[k] > 0;
    if (graph.segment[k] > 0 && Op::states > 0 && !Op::is_loss) {
      out.verdict = {Law::Recomputed, Op::states, 0, graph.leaf[k]};
      return;
    }
    out.op[k].stats_input = in1 >= 0 && out.op[in1].sums_batch;
    losses += Op::is_loss;
    ++k;
  };
  // In order; a fold expression may have no more than 256 operands in clang++.
  static_cast<void>(std::initializer_list<int>{(add(meta::type<Ops>{}), 0)...});
  if (out.verdict.law == Law::None) tie(out);
  if (out.verdict.law == Law::None && !(losses == 1 && out.op[n - 1].is_loss)) {
    out.verdict = {Law::Loss, losses, n > 0 && out.op[n - 1].is_loss, n > 0 ? graph.leaf[n - 1] : 0};
  }
  return out;
}

}  // namespace cleave::place

namespace cleave {

/// Marks where a partial sum is reduced. Needed only in a plan with `Conversions<Written>`.
struct AllReduce : layer::Chain<place::Reduce> {};

}  // namespace cleave
