// plan/sending.hpp - what a plan means by its words for what is sent: formats and routes as values, tokens as numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../schedule/volume.hpp"
#include "laws.hpp"
#include "policies.hpp"

namespace cleave::plan {

struct NoCompress {
  using codec = void;
  static constexpr bool feedback = false;
};
template <class Codec> constexpr schedule::Encoding encoding(bool feedback) {
  if constexpr (std::is_void_v<Codec>) {
    return {};
  } else {
    return {&Codec::bytes, Codec::resums, feedback, Codec::name};
  }
}
struct NoRoute {
  using route = void;
};
template <class Route> constexpr schedule::Path path() {
  if constexpr (std::is_void_v<Route>) {
    return {};
  } else {
    return {&Route::sent, Route::name};
  }
}
/// Is the sum over all ranks of a bucket taken in the tree of the ordered sum, whatever the buckets?
template <class Route, int N>
constexpr bool in_the_tree(schedule::Schedule<N> const& s, int micro_batches, schedule::Ranks ranks) {
  for (int b = 0; b < s.buckets && !std::is_void_v<Route>; ++b) {
    send::Group const g = schedule::group(s.bucket[b].world, ranks, 4);
    if (g.ranks < 1 || micro_batches % g.ranks != 0 || !send::is_power_of_two(micro_batches / g.ranks)) return false;
    if constexpr (!std::is_void_v<Route>) {
      if (!Route::keeps_the_tree(g)) return false;
    }
  }
  return true;
}
/// The replicas, if the route cannot do with so many.
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
/// The largest vocabulary of a model, or the first that does not read the data.
struct Tokens {
  int vocabulary = 0, leaf = 0;
  bool first = true;
};
template <int N> constexpr Tokens tokens(place::Signatures<N> const& model) {
  Tokens t;
  for (auto const& op : model.op) {
    if (!t.first || op.tokens <= (op.in0 < 0 ? t.vocabulary : 0)) continue;
    t = {op.tokens, op.leaf, op.in0 < 0};
  }
  return t;
}
/// Up to here all whole numbers are numbers of the format.
template <class Number> inline constexpr int largest = std::is_same_v<Number, bf16> ? 256 : 1 << 24;

}  // namespace cleave::plan
