// schedule/step.hpp - one step of the schedule. All ranks run the same steps in the same order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

#include "../place/axis_set.hpp"

namespace cleave::schedule {

enum class Do : unsigned char {
  Forward,         // run an operation on this rank's slices
  Convert,         // move a value between placements
  Gather,          // all weights of a bucket from the ranks that have a part of them each
  Sum,             // a sum over the batch that the model reads: over this rank's slices, then over the ranks
  BackwardInput,   // gradient of the inputs
  BackwardWeight,  // gradients of the weights, per slice, summed in the tree
  Start,           // start the all-reduce of a bucket of gradients; does not wait
  ConvertBack,     // the adjoint of Convert
  SumBack,         // the adjoint of Sum
  Add,             // adds the two gradients of a value that is read twice
  Keep,            // wait for a bucket's sum, of which this rank keeps a part: other gradients take its place
  Norm,            // wait for all sums; compute the norm over all weights for clipping
  Update           // wait for a bucket's sum and update its weights
};

constexpr std::string_view name(Do d) {
  constexpr std::string_view names[] = {
      "forward",      "convert",  "gather", "sum",  "backward_input", "backward_weight", "start",
      "convert_back", "sum_back", "add",    "keep", "norm",           "update"};
  return names[static_cast<int>(d)];
}

/// Whether the step is one of a bucket, not of a node.
constexpr bool is_of_bucket(Do d) { return d == Do::Gather || d == Do::Start || d == Do::Keep || d == Do::Update; }
/// Whether it is done in the last round of accumulation alone; `sums_rounds`: where gradients are summed over the
/// replicas in each round.
constexpr bool once_a_step(Do d, bool sums_rounds) {
  bool const sums = d == Do::Start || d == Do::Keep;
  return d == Do::Norm || d == Do::Update || (sums && !sums_rounds);
}

struct Step {
  Do what = Do::Forward;
  int node = -1;          // for Gather, Start, Keep and Update: the bucket
  int dx = -1, dx2 = -1;  // buffers that it writes
  bool linked = false;    // a row depends only on the same row of the step before: one kernel may do both
  friend constexpr bool operator==(Step, Step) = default;
};

/// A learned tensor on one rank.
struct Weight {
  int node = -1, which = 0;
  long offset = 0, count = 0;  // elements
  int part = 0;                // of a pipeline
  long shift = 0;              // from its offset to its place on its stage
};

/// The weights of one or several layers that are summed over the same ranks: one message.
struct Bucket {
  long offset = 0, count = 0;
  int node = -1;        // the lowest operation in it, whose gradients come last
  int leaf = -1;        // the highest layer
  place::AxisSet over;  // the ranks among which its gradients are summed
  int row = 0;          // if set, only nonzero rows of this many elements are sent
  int reads = 0;        // then: how many rows a sample uses
  int factors = 0;      // if set, this many elements of each sample are sent: input and gradient of the product `node`
  bool whole = false;   // never compressed or scheduled
  int part = 0;         // of a pipeline
  long shift = 0;       // from its offset to its place on its stage
  /// Neither compressed nor scheduled.
  constexpr bool apart() const { return whole || row > 0 || factors > 0; }
};

/// Categories of memory in the arena.
enum class Category : unsigned char { Weights, Gradients, Optimizer, Activations, Communication, Workspace };
inline constexpr int categories = 6;
constexpr std::string_view name(Category c) {
  constexpr std::string_view names[] = {"weights",     "gradients",     "optimizer",
                                        "activations", "communication", "workspace"};
  return names[static_cast<int>(c)];
}

/// A tensor with memory. Its bytes follow from the number of slices that a rank holds.
struct Buffer {
  long elements = 0;  // per micro-batch; for a tensor without batch letter, in total, in the format of such sums
  bool per_slice = true;
  place::AxisSet batch_axes;  // that cut the batch
  bool wide = false;          // stored in the format of sums, not in that of the data
  Category category = Category::Activations;
  int takes_over = -1;  // may begin where this one ends
  int part = 0;         // of a pipeline
};

/// The steps from which and to which a tensor lives.
struct Life {
  int birth = 0, death = 0;
  int written = 0;    // written by this step; in linked steps tensors are born with the first
  bool sent = false;  // another stage reads it, perhaps when the steps of this one have ended
};

}  // namespace cleave::schedule
