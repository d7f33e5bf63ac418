// op/operands.hpp - the arguments of a kernel: the extents it is specialised on, and the pointers of one micro-batch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>

#include "../tensor/number.hpp"
#include "../tensor/shape.hpp"

namespace cleave::op {

/// The extents on one rank, after all splits: a kernel's only template argument besides its number format.
struct Local {
  int rows = 0;    // samples in one slice of the batch
  int batch = 0;   // samples in the whole batch, over all ranks
  Shape x, x2, y;  // one sample
  Shape w0, w1;
  int labels = 1;   // classes that a sample of a loss is compared with
  int classes = 0;  // all of them, of an operation that finds the label's
  // Of a product in a plan with Blocks: the number of equal blocks on this rank in the sum over its inputs, and in that
  // over its outputs on the way back, from 1. Outputs lie in runs, and a block has a part of each. 0: no such plan.
  // The last member is never 0: g++ leaves zeros at the end out of a kernel's name, and nvcc's front end does not.
  int in_blocks = 0, out_blocks = 0, out_runs = 1;
  constexpr bool is_one_slice() const { return batch == rows; }
  friend constexpr bool operator==(Local const&, Local const&) = default;
};

/// Shared by all slices of one pass.
struct Pass {
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
  bool training = true;
  long first = 0;  // samples of the step before this number are not this replica's
};

/// The position of the slice: random numbers depend on this and on the pass, and on nothing else.
struct Where {
  std::uint32_t layer = 0;         // the operation's number in the model
  long sample = 0;                 // number of row 0 in the batch, counted from Pass::first
  long feature = 0, features = 0;  // global number of feature 0, and number of features of the whole sample
  long lines = 1, line = 0;        // lines in which they lie here, and features of a whole line, over all ranks
  bool first_slice = true;
  long row = 0, rows = 1L << 62;  // of a table that is cut: its first row here, and how many
  // Of what reads labels or tokens of all positions of a sample: the first position here, how many, and how many of
  // all.
  int position = 0, positions = 1, of_positions = 1;

  /// Where the label of position `here` lies, counted over samples; and the position here of a label, -1: none.
  CLEAVE_HD constexpr long label_of(long here) const {
    if (positions == of_positions) return here;  // without a division, which kernels would do for each element
    return here / positions * of_positions + position + here % positions;
  }
  CLEAVE_HD constexpr long position_of(long label) const {
    if (positions == of_positions) return label;
    long const p = label % of_positions - position;
    return p < 0 || p >= positions ? -1 : label / of_positions * positions + p;
  }
};

/// Every tensor is row-major, (rows, shape). Null if the operation has no such operand.
template <class T> struct Operands {
  using A = tensor::accumulate_t<T>;
  using S = tensor::batch_sum_t<T>;
  T const *x = nullptr, *x2 = nullptr;     // inputs
  std::int32_t const* tokens = nullptr;    // in the place of x, if the operation reads tokens
  T const *w0 = nullptr, *w1 = nullptr;    // weights
  T* y = nullptr;                          // output
  A* aux = nullptr;                        // (rows, aux): kept by the forward pass for the backward pass
  A *state0 = nullptr, *state1 = nullptr;  // kept between steps, not learned
  S* stats = nullptr;                      // a tensor without batch letter: read as input, or written as output
  T const* dy = nullptr;                   // gradient of y
  T *dx = nullptr, *dx2 = nullptr;         // gradients of the inputs, overwritten; null if not needed
  A *dw0 = nullptr, *dw1 = nullptr;        // gradients of the weights over this slice, overwritten
  S* dstats = nullptr;                     // gradient of a tensor without batch letter
  T const* bias = nullptr;                 // of a bias fused to this operation
  int const* labels = nullptr;             // (rows, Local::labels)
  float const* targets = nullptr;          // (rows, features), if the loss uses numbers (Target)
  float const* sample_weights = nullptr;   // (rows, Local::labels), if the loss reads them; null: each is 1
  A* loss = nullptr;                       // the slice's sum of losses
  A scale = 1;                             // the weight of a sample's loss in the mean: 1/batch
  Where where;
  Pass const* pass = nullptr;
  int slices = 1;                  // contiguous slices from this one on: a device may process them together
  Operands const* tail = nullptr;  // of the operations fused to this one (tail.hpp); in the host's memory
};

/// Elements of one sample, and the samples of a slice.
struct SliceSizes {
  long rows, x, x2, y, aux, labels;
};
/// Slice i of the contiguous ones from t on. On the host one copy serves all extents.
template <class T> CLEAVE_HD Operands<T> slice_of(Operands<T> t, long i, SliceSizes const& of) {
  auto const move = [rows = i * of.rows](auto*& p, long size) {
    if (p) p += rows * size;
  };
  move(t.x, of.x);
  move(t.x2, of.x2);
  move(t.tokens, of.x);
  move(t.y, of.y);
  move(t.dy, of.y);
  move(t.dx, of.x);
  move(t.dx2, of.x2);
  move(t.aux, of.aux);
  move(t.labels, of.labels);
  move(t.targets, of.x);
  move(t.sample_weights, of.labels);
  if (t.loss) t.loss += i;
  t.where.sample += i * of.rows;
  t.where.first_slice = t.where.first_slice && i == 0;
  t.slices = 1;
  return t;
}

/// `aux` numbers are kept for each sample.
template <Local L, class T> CLEAVE_HD Operands<T> slice_of(Operands<T> const& t, long i, long aux) {
  return slice_of(t, i, SliceSizes{L.rows, L.x.size(), L.x2.size(), L.y.size(), aux, L.labels});
}

/// What a loss compares its input with: a class number, below the input's elements; a number for each of these; either,
/// with classes as one-hot vectors; or either, with numbers from 0 to 1.
enum class Target : unsigned char { Class, Numbers, Either, Shares };

/// The class of a position that no loss or metric counts, in models that compare each position: padding.
inline constexpr int ignored = -1;

/// The token that a data set gives as f32, exact below 2^24; -1 for a number that is none.
CLEAVE_HD constexpr std::int32_t token_of(float v) { return v >= 0 && v < 0x1p24f ? static_cast<std::int32_t>(v) : -1; }

/// The initialisation of a learned tensor.
enum class Start : unsigned char { Zeros, Ones, He, Glorot, Bilinear };

/// A learned tensor: its extents and initialisation. fan_in and fan_out are of the whole layer, before any split.
struct Weight {
  Shape shape;
  Start start = Start::Zeros;
  int fan_in = 1, fan_out = 1;
  int unit = 1;  // found by the library: indices of its first dimension that are cut together, as a channel's pixels
};

/// The number of equal blocks of a sum in a plan of Blocks<most>: `most`, halved until it divides the terms; else 1.
constexpr int blocks_of(long terms, int most) {
  while (most > 1 && terms % most != 0) most = most % 2 == 0 ? most / 2 : 1;
  return most;
}

/// Whether the kernels of Op, which contracts, sum in Local::in_blocks and out_blocks. One that is derived from such an
/// operation has kernels of its own.
template <class Op> inline constexpr bool sums_in_blocks = false;
template <class Op>
requires requires { typename Op::runs_as; }
inline constexpr bool sums_in_blocks<Op> = sums_in_blocks<typename Op::runs_as>;

/// Of a pointwise Op: only the length of its loops depends on the extents. Not of one that is derived from it.
template <class Op> inline constexpr bool of_any_extents = false;

/// The defaults of an operation. Every operation derives from this.
struct Base {
  static constexpr int inputs = 1;
  static constexpr int weights = 0;
  static constexpr int states = 0;  // tensors kept but not learned, each of shape state(x)
  /// If set, the weights are not learned: their gradients are means over a step, towards which it moves them by this
  /// share of the way. No optimizer, clip_norm or weight decay applies to them.
  static constexpr float averages = 0;
  static constexpr bool linear = false;  // in x: may be applied to a partial sum
  /// An output is zero, and so is the gradient of an input, where the inputs and weights that it depends on are zero;
  /// of what is linear this is known. Ranks may then have unequal parts: those of the smaller ones end in zeros.
  static constexpr bool keeps_zeros = false;
  static constexpr bool elementwise = false;  // y may overwrite x
  /// Elementwise, and more: forward and backward_input are one loop each, over the rows * size elements, in which
  /// element e of the output depends on element e of the inputs only, whatever the slice. It is then fused to the
  /// kernel before it.
  static constexpr bool pointwise = false;
  static constexpr bool contracts = false;  // a matrix product or convolution: splits of the user apply to it
  static constexpr bool is_loss = false;
  static constexpr Target loss_target = Target::Class;     // of a loss
  static constexpr bool weighs_samples = false;            // of a loss: it reads Operands::sample_weights
  static constexpr bool sums_batch = false;                // y has no batch letter: it is a sum over the batch
  static constexpr bool reads_x = false, reads_y = false;  // in the backward pass; of a join, x is both its inputs
  /// The gradients of the weights are computed from what backward_input leaves in `aux`, so it is always called.
  static constexpr bool weights_after_input = false;
  static constexpr int tokens = 0;  // if set, it reads whole numbers below this, which come from the data
  /// It looks for the labels' logits: Operands::labels, where.feature, the number of its first class, and
  /// where.position are set.
  static constexpr bool finds_classes = false;
  static constexpr bool has_gradient = true;    // if not, nothing is passed back through it
  static constexpr bool of_loss = false;        // it prepares the loss, and is left out where nothing is trained
  static constexpr bool whole_numbers = false;  // it reads whole numbers in the number format of the plan
  static constexpr int sparse_row = 0;  // if set, few rows of the weight's gradient are nonzero: those that x reads
  static constexpr Weight weight(int, Shape) { return {}; }
  static constexpr std::string_view weight_names[] = {"weight", "bias"};  // in checkpoints; all different
  static constexpr Shape state(Shape) { return {}; }
  static constexpr std::string_view state_names[] = {"running_mean", "running_var"};  // in checkpoints
  static constexpr long aux(Shape, Shape) { return 0; }
  static constexpr int labels(Shape) { return 1; }  // of a sample, if this is a loss of classes
  /// Multiply-adds of a sample's forward pass, if it does more of them than its output has elements and is no product.
  static constexpr long work(Shape) { return 0; }
  /// The number of equal parts into which a letter of extent n may be split.
  static constexpr int parts(char, int n) { return n; }
};

}  // namespace cleave::op
