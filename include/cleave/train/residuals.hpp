// train/residuals.hpp - residuals of compressed gradients in a checkpoint: by rank, or as one sum for other ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "../io/safetensors.hpp"
#include "../op/verb.hpp"
#include "../schedule/group.hpp"
#include "../schedule/listing.hpp"
#include "../schedule/program.hpp"

namespace cleave::session {

constexpr bool keeps_residuals_in(schedule::Program const& p) {
  return p.format.encoding.on && p.format.encoding.feedback && !p.served;
}
template <class P> constexpr bool keeps_residuals = keeps_residuals_in(schedule::program<P>);

/// visit(bucket, of_sum, first, count) for the residuals of a rank: of its gradient's elements of a bucket, and of its
/// part of the sum. Elements count from the bucket's first.
template <class Visit> void each_residual(schedule::Program const& p, schedule::Ranks ranks, int rank, Visit visit) {
  for (int b = 0; b < p.buckets; ++b) {
    schedule::Bucket const& bucket = p.bucket[b];
    int const n = ranks.group_size(bucket.over), index = ranks.index(rank, bucket.over);
    if (bucket.apart() || n == 1) continue;
    visit(b, false, 0L, bucket.count);
    if (!p.format.encoding.resums) continue;
    visit(b, true, op::part_begin(bucket.count, index, n), op::part_size(bucket.count, index, n));
  }
}
template <class P, class Visit> void each_residual(schedule::Ranks ranks, int rank, Visit visit) {
  each_residual(schedule::program<P>, ranks, rank, visit);
}
inline long residuals(schedule::Program const& p, schedule::Ranks ranks, int rank) {
  long all = 0;
  each_residual(p, ranks, rank, [&](int, bool, long, long count) { all += count; });
  return all;
}
template <class P> long residuals(schedule::Ranks ranks, int rank) {
  return residuals(schedule::program<P>, ranks, rank);
}
/// The layout of a rank's residuals, one after the other.
inline std::string residual_layout(schedule::Program const& p) {
  if (!keeps_residuals_in(p)) return "none";
  std::string text(p.format.encoding.name);
  for (int b = 0; b < p.buckets; ++b) {
    schedule::Bucket const& bucket = p.bucket[b];
    if (!bucket.apart()) text += " " + std::to_string(bucket.offset) + "+" + std::to_string(bucket.count);
  }
  if (p.mesh.ways() > 1) meta::append(text, {" on ", schedule::text::ways(p.mesh), " ways, weights cut by"});
  for (int w = 0; p.mesh.ways() > 1 && w < p.weights; ++w) {
    for (int a = place::data_axis + 1; a < p.mesh.axes; ++a) {
      place::Placement const& on = p.node[p.weight[w].node].w.on[a];
      bool const cut = on.kind == place::Kind::Shard;
      if (cut || p.mesh.axes > 2) meta::append(text, {" ", cut ? std::to_string(on.dim) : "-"});
      if (cut && on.unit > 1) meta::append(text, {"/", on.unit});
    }
    text += ",";
  }
  return text;
}
inline std::string residual_name(int rank) { return meta::joined({"rank", rank, ".residual"}); }

/// The residuals of each rank, from a file: its residuals or, if another number of ranks has saved them, the sum of all
/// for the first rank that sums a bucket: nothing is lost, only delayed. (One replica sends nothing, and drops them.)
template <class A>
[[gnu::cold]] std::vector<std::vector<A>> saved_residuals(schedule::Program const& p, io::SafeTensors const& file,
                                                          std::string const& path, schedule::Ranks ranks) {
  std::vector<std::vector<A>> now(static_cast<std::size_t>(ranks.world()));
  for (int r = 0; r < ranks.world(); ++r)
    now[static_cast<std::size_t>(r)].resize(static_cast<std::size_t>(residuals(p, ranks, r)));
  int saved = 0;
  while (file.find(residual_name(saved))) ++saved;
  if (saved == 0 || ranks.world() == 1) return now;
  std::string const* const layout = file.find_metadata("residuals");
  if (!layout || *layout != residual_layout(p)) {
    throw Error({path, ": its gradients were compressed as ", (layout ? *layout : "nobody says"), ", here as ",
                 residual_layout(p), "; say the same Compress, Buckets and split"});
  }
  schedule::Ranks const then = ranks.with_replicas(saved / ranks.ways());
  for (int r = 0; r < saved; ++r) {
    io::NamedTensor const* t = file.find(residual_name(r));
    if (then.world() != saved || t->bytes.size() != static_cast<std::size_t>(residuals(p, then, r)) * sizeof(A)) {
      throw Error({path, ": tensor ", residual_name(r), " does not fit this plan's messages of gradients"});
    }
    std::vector<A> had(t->bytes.size() / sizeof(A));
    std::memcpy(had.data(), t->bytes.data(), t->bytes.size());
    if (saved == ranks.world()) {
      now[static_cast<std::size_t>(r)] = std::move(had);
      continue;
    }
    A const* from = had.data();
    each_residual(p, then, r, [&](int b, bool, long first, long count) {
      int const keeper = schedule::group_over(p.bucket[b].over, ranks, r % ranks.ways()).rank(0);
      long at = 0;
      each_residual(p, ranks, keeper, [&](int its, bool of_sum, long, long its_count) {
        A* const to = now[static_cast<std::size_t>(keeper)].data() + at;
        for (long i = 0; its == b && !of_sum && i < count; ++i) to[first + i] += from[i];
        at += its_count;
      });
      from += count;
    });
  }
  return now;
}

}  // namespace cleave::session
