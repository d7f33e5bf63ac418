// schedule/program.hpp - a plan's schedule as one value: what an executor reads, whatever the plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <string_view>

#include "arena.hpp"
#include "parameter_runs.hpp"

namespace cleave::schedule {

/// An operation on its ranks, or a conversion between two of them: what executors ask of a node.
struct ProgramNode {
  int op = -1;             // the operation's number in the model; -1: a conversion
  std::string_view name;   // of the operation
  int in0 = -1, in1 = -2;  // nodes; -1 the model's input, -2 none
  int leaf = -1;           // the layer
  int weights = 0, states = 0, tokens = 0;
  bool is_loss = false, sums_batch = false, stats_input = false;
  place::AxisSet batch_axes;  // that cut the batch
  place::Sharding x, y, w;    // of the first input, the output, and the weights or running statistics
  bool samples = true;        // of y, which has a batch
  bool chooses_rows = false;  // of its weight, by its input: a table
  op::Verb forward = op::Verb::None, backward = op::Verb::None;  // of a conversion
  op::Local local;
  op::Weight weight[2];  // whole, over all ways
  Shape state;           // of a running statistic, over all ways
  std::string_view const *weight_names = nullptr, *state_names = nullptr;
  long features = 0;         // elements of a whole sample of y, over all ways
  long lines = 1;            // in these, of the dimensions above the one that is cut
  long feature_unit = 1;     // elements of one index of the dimension that is cut
  long aux = 0;              // numbers kept of a sample for the way back
  long state_size = 0;       // elements of a running statistic on this rank
  int class_dim = 0;         // of x, where the classes lie that it finds; 0: it finds none
  int positions = 0;         // all of a sample whose labels or tokens it reads, where ranks may have parts; 0: none
  int part = 0;              // of a pipeline
  int tied = -1;             // the node whose gradient of the same weight is computed with this one's
  place::PaddedRows padded;  // of a conversion to rows of images that windows read

  /// Over which the gradients of its weights are summed.
  constexpr place::AxisSet summed_over() const { return place::axes_of(w, place::replicate); }
  /// Of a sum over the batch: the axes of the ranks that have summands, of other samples or other rows of images.
  constexpr place::AxisSet sums_along() const {
    place::AxisSet out;
    for (int a = 0; a < place::most_axes; ++a) {
      if (x.on[a].kind == place::Kind::Shard && y.on[a] == place::invariant) out.bits |= 1u << a;
    }
    return out;
  }
  /// The last dimension of a sample that axes cut, before or behind it.
  constexpr int last_cut() const { return std::max(place::dim_cut(x), place::dim_cut(y)); }
  /// Of a conversion: along which.
  constexpr place::AxisSet converted_along() const {
    return padded.height > 0 ? place::axes_of(y, place::shard(place::image_rows)) : place::changed(x, y);
  }
};

/// Spans over constants of the plan that it is made of, and scalars. Copied freely; owns nothing.
struct Program : Chains<Program> {
  Step const* step = nullptr;
  Weight const* weight = nullptr;
  Bucket const* bucket = nullptr;
  Buffer const* buffer = nullptr;
  Life const* life = nullptr;  // of each buffer
  ProgramNode const* node = nullptr;
  OfNorm const* norm = nullptr;
  int steps = 0, forward_steps = 0, weights = 0, buckets = 0, buffers = 0, nodes = 0, norms = 0;
  // Of each node, as Schedule has them.
  int const *value = nullptr, *aux = nullptr, *gradient = nullptr, *first_weight = nullptr, *bias = nullptr,
            *map = nullptr, *forward_tail = nullptr, *backward_tail = nullptr;
  int const *again = nullptr, *aux_again = nullptr;
  long const* state = nullptr;
  bool const* adds = nullptr;
  long weight_elements = 0, state_elements = 0, most_weight_leaf = 0, most_sum_leaf = 0, targets = 0;
  int labels = 1;
  bool weighs_samples = false;  // by the loss
  long loss_scale = 0;          // the state of the plan's LossScale, if it has one: an element of the states
  int input_value = -1;
  int last = -1;              // the node that the loss reads, or what is known of it where classes are split
  long outputs = 0;           // of a sample, that the loss compares
  place::AxisSet input_axes;  // that cut the batch that ranks are given
  Shape input;                // one sample
  bool tokens = false;        // which are whole numbers, in 32 bits
  place::DeviceMesh mesh;     // of unknown replicas
  int rows = 1, rounds = 1, blocks = 1;
  bool waits_for_norm = false, served = false;
  Format format;
  optim::ParameterRuns groups;  // of weights, that the optimizer tells apart
  PipelineSchedule pipeline;
};

/// The part of a pipeline that runs a step; -1: all.
constexpr int part_of(Program const& p, Step const& s) {
  if (is_of_bucket(s.what)) return p.bucket[s.node].part;
  if (s.what == Do::Norm) return -1;
  if (s.node < 0) return 0;
  ProgramNode const& n = p.node[s.node];
  bool const given_back = s.what == Do::ConvertBack && n.backward == op::Verb::Send;
  return given_back ? (n.in0 < 0 ? 0 : p.node[n.in0].part) : n.part;
}
/// The part that has what a step brings from one stage to another; -1 if it does not.
constexpr int sender_of(Program const& p, Step const& s) {
  bool const converts = s.what == Do::Convert || s.what == Do::ConvertBack;
  if (!converts || p.node[s.node].forward != op::Verb::Send) return -1;
  int const in0 = p.node[s.node].in0;
  return s.what == Do::ConvertBack ? p.node[s.node].part : in0 < 0 ? 0 : p.node[in0].part;
}
/// Whether of the ranks that have these weights, a rank is the one that counts their squares; if each has a part of
/// their sum, those of its part.
constexpr bool counts(Program const& p, OfNorm const& n, Ranks const& ranks, int rank) {
  Bucket const& of = p.bucket[n.bucket];
  place::AxisSet const alike = optimizer_in_parts(p.format, ranks) ? n.alike - of.over : n.alike;
  return p.pipeline.stage(of.part) == ranks.stage(rank) && ranks.index(rank, alike) == 0;
}
/// Whether a rank runs a step.
constexpr bool runs(Program const& p, Step const& s, Ranks const& ranks, int rank) {
  int const part = part_of(p, s);
  return part < 0 || p.pipeline.stage(part) == ranks.stage(rank);
}

template <class P> class ProgramOf {
  static constexpr int count = P::placed.count;
  struct Nodes {
    ProgramNode of[count + 1];
  };
  static constexpr Nodes nodes() {
    Nodes out;
    for (int k = 0; k < count; ++k) {
      auto const& n = P::placed.node[k];
      ProgramNode& to = out.of[k];
      to.op = n.op;
      to.in0 = n.in0;
      to.in1 = n.in1;
      to.batch_axes = n.batch_axes;
      to.forward = n.conversion.forward;
      to.backward = n.conversion.backward;
      to.x = n.x;
      to.y = n.y;
      to.w = n.w;
      to.local = n.local;
      to.part = n.part;
      to.padded = n.padded;
      to.features = n.whole.size();
      int const cut = to.last_cut() - 1;
      if (n.op < 0 || P::signatures.op[n.op].elementwise) {
        for (int d = 0; d < cut; ++d) to.lines *= n.whole[d];
        to.feature_unit = n.whole.stride(cut);
      }
      if (n.op < 0) continue;
      auto const& s = P::signatures.op[n.op];
      to.name = s.name;
      to.state = s.state;
      to.weight_names = s.weight_names;
      to.state_names = s.state_names;
      to.leaf = s.leaf;
      to.weights = s.weights;
      to.tokens = s.tokens;
      for (int w = 0; w < 2; ++w) to.weight[w] = s.w[w];
      to.states = s.states;
      to.samples = s.y_at.has('b');
      to.chooses_rows = s.weights > 0 && !s.x_at.has(s.w_at[0]) && !s.y_at.has(s.w_at[0]);
      to.is_loss = s.is_loss;
      to.class_dim = s.finds_classes ? s.x.dims : 0;
      to.positions = s.finds_classes && s.x.dims > 1 ? s.x[0] : to.chooses_rows ? s.y[0] : 0;
      to.sums_batch = s.sums_batch;
      to.stats_input = s.stats_input;
      to.aux = s.aux(n.local.x, n.local.y);
      if (!s.reads_tied()) to.tied = P::placed_model.tied(k);
      if (s.states > 0) to.state_size = place::algebra::cut(s.state, n.w, P::request.mesh, 0).size();
    }
    return out;
  }
  struct Norms {
    OfNorm of[P::schedule.weights + 1];
    int count = 0;
  };
  static constexpr Norms norms() {
    Norms out;
    each_of_norm<P>([&](OfNorm const& n) { out.of[out.count++] = n; });
    return out;
  }
  static constexpr Nodes node = nodes();
  static constexpr Norms norm = norms();

 public:
  static constexpr Program make() {
    auto const& s = P::schedule;
    Program p;
    p.step = s.step;
    p.weight = s.weight;
    p.bucket = s.bucket;
    p.buffer = s.buffer;
    p.life = P::lives.of;
    p.node = node.of;
    p.norm = norm.of;
    p.steps = s.steps;
    p.forward_steps = s.forward_steps;
    p.weights = s.weights;
    p.buckets = s.buckets;
    p.buffers = s.buffers;
    p.nodes = count;
    p.norms = norm.count;
    p.value = s.value;
    p.aux = s.aux;
    p.again = s.again;
    p.aux_again = s.aux_again;
    p.gradient = s.gradient;
    p.first_weight = s.first_weight;
    p.bias = s.bias;
    p.map = s.map;
    p.forward_tail = s.forward_tail;
    p.backward_tail = s.backward_tail;
    p.state = s.state;
    p.adds = s.adds;
    p.weight_elements = s.weight_elements;
    p.state_elements = s.state_elements;
    p.most_weight_leaf = s.most_weight_leaf;
    p.most_sum_leaf = s.most_sum_leaf;
    p.targets = s.targets;
    p.labels = s.labels;
    p.weighs_samples = s.weighs_samples;
    p.input_value = s.input_value;
    for (int k = 0; k < count; ++k) {
      if (P::placed.node[k].op == static_cast<int>(P::ops::size) - 1) p.loss_scale = s.state[k];
      p.tokens = p.tokens || node.of[k].tokens > 0;
    }
    p.last = P::placed.last;
    p.outputs = P::signatures.op[P::ops::size - 1].x.size();
    p.input_axes = place::axes_of(P::placed.input, place::shard(place::batch));
    p.input = P::Net::input::shape;
    p.mesh = P::request.mesh;
    p.rows = P::request.rows;
    p.rounds = P::request.rounds;
    p.blocks = P::request.blocks;
    p.waits_for_norm = P::waits_for_norm;
    p.served = P::served;
    p.format = P::format;
    p.groups = parameter_runs_of<P>();
    p.pipeline = s.pipeline;
    return p;
  }
};

/// Of plan P.
template <class P> inline constexpr Program program = ProgramOf<P>::make();

/// The layout of the memory of a stage's ranks (arena.hpp), when a program runs.
template <class = void>
RuntimeLayout runtime_layout(Program const& p, place::Request request, Ranks ranks, int stage = 0) {
  RuntimeLayout out;
  for (auto* each : {&out.buffer, &out.slots_apart}) each->resize(p.buffers);
  for (auto* each : {&out.encoded, &out.left, &out.left_of_sum, &out.part, &out.rows_apart}) each->resize(p.buckets);
  auto const buffers = static_cast<std::size_t>(p.buffers);
  std::vector<int> dying(static_cast<std::size_t>(p.steps) + 1), next(buffers);
  std::vector<long> size(buffers);
  lay_out(out, p, p.life, request, p.format, ranks, stage, dying.data(), next.data(), size.data());
  return out;
}

/// Of the stage whose ranks need most.
inline RuntimeLayout largest_layout(Program const& p, place::Request const& request, Ranks ranks) {
  RuntimeLayout most = runtime_layout(p, request, ranks);
  for (int stage = 1; stage < ranks.stages; ++stage) {
    RuntimeLayout of = runtime_layout(p, request, ranks, stage);
    if (of.memory.total > most.memory.total) most = std::move(of);
  }
  return most;
}

}  // namespace cleave::schedule
