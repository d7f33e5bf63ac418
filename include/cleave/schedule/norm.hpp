// schedule/norm.hpp - the norm over all gradients: the order of the sum of squares, and which way counts which weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../place/placement.hpp"
#include "../place/sharding.hpp"
#include "../tensor/square_digits.hpp"
#include "format.hpp"
#include "schedule.hpp"

namespace cleave::schedule {

/// Weights of one layer that are cut along the same axes. These do not depend on the number of replicas, nor on which
/// layers share a message.
struct OfNorm {
  int bucket = 0;
  long offset = 0, count = 0;
  place::AxisSet alike{};  // all ranks along these have all of them: the first counts them
};

/// visit(OfNorm) from the first weight to the last.
template <class P, class Visit> constexpr void each_of_norm(Visit visit) {
  auto const& s = P::schedule;
  auto const alike = [&](Weight const& w) {
    place::AxisSet cut;
    for (int a = 0; a < place::most_axes; ++a)
      if (P::placed.node[w.node].w.on[a].kind == place::Kind::Shard) cut.bits |= 1u << a;
    return P::request.mesh.of_replica() - cut;
  };
  auto const leaf = [](Weight const& w) { return P::signatures.op[P::placed.node[w.node].op].leaf; };
  auto const learns = [](Weight const& w) { return P::signatures.op[P::placed.node[w.node].op].averages == 0; };
  auto const in = [](Bucket const& b, Weight const& w) { return w.offset < b.offset + b.count; };
  OfNorm n;
  for (int i = 0; i < s.weights; ++i) {
    Weight const& w = s.weight[i];
    if (leaf(w) < P::request.frozen || !learns(w)) continue;
    if (n.count == 0) n = {n.bucket, w.offset, 0, alike(w)};
    while (!in(s.bucket[n.bucket], w)) ++n.bucket;
    n.count += w.count;
    auto const joins = [&](Weight const& next) {
      return learns(next) && leaf(next) == leaf(w) && alike(next) == n.alike && in(s.bucket[n.bucket], next);
    };
    if (i + 1 < s.weights && joins(s.weight[i + 1])) continue;
    visit(n);
    n.count = 0;
  }
}

// In the arena, in words of 8 bytes:
//   0, 1   the sum of a way in f64, in alternating steps: peers may still read the last one while the next is written
//   2      on the host, the sum of all ways; on a device, the scale of the gradients
//   3 ...  where several ranks have parts of a way's gradients, the digits of what this rank has, in alternating steps,
//          then those of each way; then, on a device, the digits of pieces
inline constexpr int norm_word = sizeof(double), norm_of_ways = 2, norm_scale = 2, norm_digits = 3;
inline constexpr long norm_piece = 8192;  // weights

/// A sum of squares without rounding, in digits of 32 bits, and one word more; by the bytes of an element of sums.
constexpr int squares_words(long sum_bytes) {
  return sum_bytes > 4 ? tensor::SquareDigits<double>::words : tensor::SquareDigits<float>::words;
}

/// Whether several ranks have parts of a way's gradients, so that its sum is of theirs.
template <class S> constexpr bool sums_parts_of_norm(S const& s, Format const& f, Ranks const& ranks) {
  return s.pipeline.is_split() || optimizer_in_parts(f, ranks);
}
/// The word at which the digits of pieces begin.
template <class S> constexpr long norm_pieces_at(S const& s, Format const& f, Ranks const& ranks) {
  return norm_digits + (sums_parts_of_norm(s, f, ranks) ? (2 + ranks.ways()) * squares_words(f.sum) : 0);
}
/// Each layer's sum ends with a separate piece. The stages of a pipeline run on the host, which has no pieces.
template <class S> constexpr long norm_bytes(S const& s, Format const& f, Ranks const& ranks) {
  long pieces = 0;
  if (!s.pipeline.is_split()) pieces = part_elements(s, f, ranks, 0) / norm_piece + s.weights;
  return (norm_pieces_at(s, f, ranks) + pieces * squares_words(f.sum)) * norm_word;
}

}  // namespace cleave::schedule
