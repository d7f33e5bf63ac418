// schedule/format.hpp - the constants of all layouts of one plan, and what of its weights and gradients a rank has under ZeRO.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "encoding.hpp"
#include "group.hpp"
#include "path.hpp"
#include "step.hpp"

namespace cleave::schedule {

inline constexpr long alignment = 64;
inline constexpr long workspace_bytes =
    1L << 20;  // per rank, for packing panels of matrix products; libraries may have more
constexpr long aligned(long bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// The constants of all layouts of one plan.
struct Format {
  int data = 4;       // bytes of an element of activations and messages
  int sum = 4;        // bytes of an element of sums and master weights
  int batch_sum = 8;  // bytes of an element of a sum over the batch that the model reads
  int moments = 0;    // optimizer tensors per weight
  bool ordered = true;
  int pushed = 0;            // bytes of an element that is sent to a parameter server; 0: there is none
  int shards = 1;            // of that server: the part for each is encoded separately
  bool pushed_rows = false;  // gradients are pushed, some of them as sparse rows
  Encoding encoding{};
  Path path{};
  long workspace = workspace_bytes;
  // From 1: of the ranks that sum a bucket, each has a part of what the optimizer keeps. From 2: two buckets of
  // gradients are there at a time; 3: of weights, too.
  int zero = 0;
  bool keeps_sums = false;  // what is kept of sums of gradients over the ranks has the format of sums
};

constexpr bool optimizer_in_parts(Format const& f, Ranks const& ranks) { return f.zero > 0 && ranks.replicas() > 1; }
/// Then a rank has the weights that kernels read only around the steps that do.
constexpr bool weights_in_turn(Format const& f, Ranks const& ranks) {
  return f.zero > 2 && optimizer_in_parts(f, ranks);
}
/// Whether gradients take turns in memory: with a norm, and in several rounds, if a rank keeps its part of their sum.
constexpr bool gradients_in_turn(Format const& f, Ranks const& ranks, bool waits_for_norm, int rounds) {
  return f.zero > 1 && ((rounds == 1 && !waits_for_norm) || optimizer_in_parts(f, ranks));
}
/// Then a rank keeps its part of the sum of a bucket's gradients, whose place others take, until the norm is known or
/// the last round is summed.
constexpr bool keeps_gradients(Format const& f, Ranks const& ranks, bool waits_for_norm, int rounds) {
  return (waits_for_norm || rounds > 1) && gradients_in_turn(f, ranks, waits_for_norm, rounds);
}
/// The bytes of an element of that part.
constexpr int kept_bytes(Format const& f) { return f.keeps_sums ? f.sum : std::min(f.data, f.sum); }
/// The elements of the parts that a rank of a stage has of the first buckets of a schedule or program.
template <class S> constexpr long parts_before(S const& s, Ranks const& ranks, int buckets, int stage) {
  long sum = 0;
  for (int b = 0; b < buckets; ++b) {
    Bucket const& of = s.bucket[b];
    sum += s.pipeline.stage(of.part) == stage ? Partition{of.count}.most(ranks.group_size(of.over)) : 0;
  }
  return sum;
}
/// The weights of a stage of a pipeline.
template <class S> constexpr long stage_elements(S const& s, int stage) {
  if (!s.pipeline.is_split()) return s.weight_elements;
  long sum = 0;
  for (int i = 0; i < s.weights; ++i) sum += s.pipeline.stage(s.weight[i].part) == stage ? s.weight[i].count : 0;
  return sum;
}
/// The elements of a tensor of the optimizer on a rank.
template <class S> constexpr long part_elements(S const& s, Format const& f, Ranks const& ranks, int stage) {
  return optimizer_in_parts(f, ranks) ? parts_before(s, ranks, s.buckets, stage) : stage_elements(s, stage);
}
/// Whether of the weights in the format of sums, too, a rank has its parts only: kernels read copies, and there are no
/// weights that do not learn.
template <class S> constexpr bool masters_in_parts(S const& s, Format const& f, Ranks const& ranks) {
  long learn = 0;
  for (int b = 0; b < s.buckets; ++b) learn += s.bucket[b].count;
  bool const copied = f.data < f.sum || f.zero > 2;
  return optimizer_in_parts(f, ranks) && copied && learn == s.weight_elements;
}

/// Where the weights of buckets, or the gradients of a branch, lie, in elements: each at the offset of its weight, or,
/// if only two neighbouring buckets are there at a time, those of even number in one place, and those of odd number in
/// another.
struct BucketPlaces {
  long count = 0;
  long odd = -1;  // if set, the place of the buckets of odd number; those of even number are at 0
  constexpr bool in_turn() const { return odd >= 0; }
  constexpr long of(Bucket const* bucket, int b) const {
    return in_turn() ? b % 2 * odd : bucket[b].offset + bucket[b].shift;
  }
};
template <class S> constexpr BucketPlaces bucket_places(S const& s, int stage, bool in_turn) {
  if (!in_turn) return {stage_elements(s, stage), -1};
  long most[2]{};
  for (int b = 0; b < s.buckets; ++b) most[b % 2] = std::max(most[b % 2], s.bucket[b].count);
  return {most[0] + most[1], most[0]};
}

}  // namespace cleave::schedule
