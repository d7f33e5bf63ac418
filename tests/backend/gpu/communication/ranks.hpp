// backend/gpu/communication/ranks.hpp - the ranks of a plan on an emulated device, whose tensors a test fills and reads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>
#include <cleave.hpp>
#include <cleave/train/emulated.hpp>

namespace cleave::testing {

template <class P> struct RanksOf {
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  using Machine = backend::emulate::Machine;
  using Link = backend::gpu::AllHere;
  using Ranks = backend::gpu::Ranks<T, Machine, Link>;
  using One = typename Ranks::One;

  schedule::Ranks ranks;
  decltype(schedule::layout(P::schedule, P::lives, P::request, P::format, schedule::Ranks{})) layout;
  Machine machine;
  Link link;
  Ranks all;

  explicit RanksOf(int replicas)
      : ranks{replicas, P::ways},
        layout(schedule::layout(P::schedule, P::lives, P::request, P::format, ranks)),
        all(lower::device_executable<P, Machine, Link>, machine, link, ranks, P::share(ranks), layout) {}

  /// The first step that does this.
  static int step(schedule::Do what) {
    int s = 0;
    while (P::schedule.step[s].what != what) ++s;
    return s;
  }
  template <class E> E* tensor(int rank, long offset) { return all.template in_arena<E>(all.at(rank), offset); }
  /// Sets the sum of gradients that each rank brings to its number plus one.
  void fill_gradients() {
    for (int r = 0; r < ranks.world(); ++r) {
      A* const g = tensor<A>(r, layout.gradients);
      for (long i = 0; i < P::schedule.weight_elements; ++i) g[i] = static_cast<A>(r + 1);
    }
  }
};

}  // namespace cleave::testing
