// schedule/step.hpp - one line of the schedule. All ranks run the same lines in the same order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace cleave::schedule {

enum class Do : unsigned char {
  Forward,         // run an operation on this rank's slices
  Convert,         // move a value between placements
  Sum,             // take a sum over the batch that the model reads: over this rank's slices, then over the ranks
  BackwardInput,   // gradient of the inputs
  BackwardWeight,  // gradients of the weights, per slice, summed in the tree
  Start,           // hand a bucket of gradients to the all-reduce; nothing waits
  ConvertBack,     // the adjoint of Convert
  SumBack,         // the adjoint of Sum
  Add,             // a value read twice has two gradients
  Norm,            // wait for all sums; over all weights, take the norm that gradients are clipped to
  Update           // wait for a bucket's sum and step its weights
};

constexpr std::string_view name(Do d) {
  constexpr std::string_view names[] = {"forward",      "convert",  "sum", "backward_input", "backward_weight", "start",
                                        "convert_back", "sum_back", "add", "norm",           "update"};
  return names[static_cast<int>(d)];
}

struct Step {
  Do what = Do::Forward;
  int node = -1;          // of Start and Update: the bucket
  int dx = -1, dx2 = -1;  // buffers that it writes
  bool linked = false;    // of the step before it, a row needs the same row only: one kernel may do both
  friend constexpr bool operator==(Step, Step) = default;
};

/// A learned tensor on one rank.
struct Weight {
  int node = -1, which = 0;
  long offset = 0, count = 0;  // elements
};

/// The weights of a layer, or of several, that are summed over the same ranks: one message.
struct Bucket {
  long offset = 0, count = 0;
  int node = -1;       // the lowest operation in it: its gradients come last
  int leaf = -1;       // the highest layer
  bool world = false;  // over the model axis too
  int row = 0;         // if set, only rows of so many elements that are not zero are sent
  int reads = 0;       // then: how many rows a sample names
  int factors = 0;     // if set, of each sample so many elements are sent, input and gradient of the product `node`
  bool whole = false;  // goes as it is, whatever is said of gradients
  /// Neither encoded nor by a route.
  constexpr bool apart() const { return whole || row > 0 || factors > 0; }
};

/// What a piece of the arena is for.
enum class Category : unsigned char { Weights, Gradients, Optimizer, Activations, Communication, Workspace };
inline constexpr int categories = 6;
constexpr std::string_view name(Category c) {
  constexpr std::string_view names[] = {"weights",     "gradients",     "optimizer",
                                        "activations", "communication", "workspace"};
  return names[static_cast<int>(c)];
}

/// A tensor that lives from one step to another. Its bytes follow from the number of slices a rank holds.
struct Buffer {
  long elements = 0;  // per micro-batch; of a tensor without batch letter, in all, in the format of such sums
  bool per_slice = true;
  bool rows_cut = false;  // slices are cut over the model axis too
  bool wide = false;      // kept in the format of sums, not in that of the data
  Category category = Category::Activations;
  int birth = 0, death = 0;
  int takes_over = -1;  // may stand where this one ends
  int written = 0;      // by this step; in linked steps tensors are born with the first
};

}  // namespace cleave::schedule
