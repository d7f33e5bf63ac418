// train/sent_whole.hpp - a plan as devices run it: gradients that are rows or factors elsewhere are sent whole.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../meta/list.hpp"
#include "../schedule/schedule.hpp"

namespace cleave::session {

template <class Table> constexpr Table with_whole(Table of) {
  for (int b = 0; b < of.buckets; ++b) {
    auto& bucket = of.bucket[b];
    bucket.whole = bucket.row > 0 || bucket.factors > 0;
    bucket.row = bucket.reads = bucket.factors = 0;
  }
  return of;
}
/// The number of rows or factors would have to be known on the host within the step. Such layers are neither compressed
/// nor scheduled, as elsewhere; the traffic and the memory are these.
template <class P> struct SentWhole : P {
  static constexpr auto bucket_table = with_whole(P::bucket_table);
  static constexpr auto schedule = cleave::schedule::view(P::placed_model, P::fused, P::recomputed, bucket_table,
                                                          P::buffer_table, P::step_table, P::schedule.pipeline);
};
template <class P> constexpr bool sends_some() {
  for (int b = 0; b < P::schedule.buckets; ++b) {
    if (P::schedule.bucket[b].row + P::schedule.bucket[b].factors > 0) return true;
  }
  return false;
}
template <class P>
using sent_whole_t = typename std::conditional_t<sends_some<P>(), meta::type<SentWhole<P>>, meta::type<P>>::is;

}  // namespace cleave::session
