// plan/sending.hpp - the policies of communication as values: formats, algorithms, tokens.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../layer/linear.hpp"
#include "../schedule/volume.hpp"
#include "laws.hpp"
#include "policies.hpp"

namespace cleave::plan {

/// The layer or policy to report: the first that violates a law, or the first of all if none does.
struct Culprit {
  std::size_t at = 0;
  int count = 0;  // the number of repetitions
  bool none = true;
};
struct NoCompress {
  using codec = void;
  static constexpr bool feedback = false;
};
template <class Codec> constexpr schedule::Encoding encoding(bool feedback) {
  if constexpr (std::is_void_v<Codec>) {
    return {};
  } else {
    return {true, &Codec::bytes, Codec::resums, feedback, Codec::name, Codec::workspace};
  }
}
struct NoBlocks {
  static constexpr int blocks = 1;
};
struct NoBuckets {
  static constexpr long bytes = 0;
};
struct UsualWorkspace {
  static constexpr long bytes = schedule::workspace_bytes;
};
struct NoRoute {
  using route = void;
};
template <class Route> constexpr schedule::Path path() {
  if constexpr (std::is_void_v<Route>) {
    return {};
  } else {
    return {true, &Route::sent, &Route::rounds, &Route::move, &Route::fits, Route::name};
  }
}
/// Whether the sum of a bucket over all ranks is taken in the tree of the ordered sum, for any buckets.
template <class Route>
constexpr bool in_the_tree(schedule::Schedule const& s, int micro_batches, schedule::Ranks ranks) {
  for (int b = 0; b < s.buckets && !std::is_void_v<Route>; ++b) {
    send::Group const g = schedule::group(s.bucket[b].over, ranks, 4);
    if (g.ranks < 1 || micro_batches % g.ranks != 0 || !send::is_power_of_two(micro_batches / g.ranks)) return false;
    if constexpr (!std::is_void_v<Route>) {
      if (!Route::keeps_the_tree(g)) return false;
    }
  }
  return true;
}
/// The number of replicas, if the algorithm does not support it.
template <class Route> constexpr int unfit(int replicas) {
  if constexpr (!std::is_void_v<Route>) {
    if (replicas > 0 && !Route::fits({replicas, 1, 4})) return replicas;
  }
  return 0;
}
template <class Codec> struct law_of_sending { using is = send::sendable; };
template <class Codec>
requires requires { typename Codec::law; }
struct law_of_sending<Codec> {
  using is = typename Codec::law;
};
template <class Codec> constexpr bool keeps_zeros() {
  if constexpr (requires { Codec::keeps_zeros; }) {
    return Codec::keeps_zeros;
  } else {
    return true;
  }
}
/// The model with its layers' options for factors.
template <int N, class... Leaves>
constexpr place::Signatures<N> with_factors(place::Signatures<N> model, meta::list<Leaves...>) {
  constexpr place::Factors said[] = {meta::contains<SendFactors, layer::policies_of<Leaves>> ? place::Factors::Always
                                     : meta::contains<SendCheapest, layer::policies_of<Leaves>>
                                         ? place::Factors::WhereCheaper
                                         : place::Factors::Never...,
                                     place::Factors::Never};
  for (auto& op : model.op) {
    if (op.contracts && op.x_at == op::Subscripts("bi")) op.factors = said[op.leaf];
  }
  return model;
}
/// The first layer with SendFactors that is no product.
template <int N, class... Leaves>
constexpr Culprit no_product(place::Signatures<N> const& model, meta::list<Leaves...>) {
  bool good[sizeof...(Leaves) + 1] = {!(meta::contains<SendFactors, layer::policies_of<Leaves>> ||
                                        meta::contains<SendCheapest, layer::policies_of<Leaves>>)...};
  for (auto const& op : model.op) {
    if (op.factors != place::Factors::Never) good[op.leaf] = true;
  }
  for (std::size_t k = 0; k < sizeof...(Leaves); ++k) {
    if (!good[k]) return {k, 1, false};
  }
  return {};
}
template <int N> constexpr bool always_factors(place::Signatures<N> const& model) {
  bool any = false;
  for (auto const& op : model.op) any |= op.factors == place::Factors::Always;
  return any;
}
/// The layer of the first operation whose gradient is always sent as factors, or the first layer.
template <int N> constexpr int factored(place::Signatures<N> const& model) {
  for (auto const& op : model.op) {
    if (op.factors == place::Factors::Always) return op.leaf;
  }
  return 0;
}
/// The layer of the first operation whose gradient is sent as factors or as rows, or the first layer.
template <int N> constexpr int part_sender(place::Signatures<N> const& model) {
  for (auto const& op : model.op) {
    if (op.factors != place::Factors::Never || op.sparse_row > 0) return op.leaf;
  }
  return 0;
}
template <int N> constexpr bool sends_parts_of_gradients(place::Signatures<N> const& model) {
  bool any = false;
  for (auto const& op : model.op) any |= op.factors != place::Factors::Never || op.sparse_row > 0;
  return any;
}
template <int N> constexpr bool reads_whole_numbers(place::Signatures<N> const& model) {
  bool any = false;
  for (auto const& op : model.op) any |= op.whole_numbers;
  return any;
}
/// The largest vocabulary of a model, or the first of a layer that does not read the data.
struct Tokens {
  int vocabulary = 0, leaf = 0;
  bool first = true, alone = true;  // alone: nothing else reads the data
};
template <int N> constexpr Tokens tokens(place::Signatures<N> const& model) {
  Tokens t;
  for (auto const& op : model.op) {
    if (!t.first || op.tokens <= (op.in0 < 0 ? t.vocabulary : 0)) continue;
    t = {op.tokens, op.leaf, op.in0 < 0};
  }
  for (auto const& op : model.op)
    t.alone = t.alone && (t.vocabulary == 0 || op.tokens > 0 || (op.in0 != -1 && op.in1 != -1));
  return t;
}

}  // namespace cleave::plan
