// backend/host/execution/actions.hpp - the schedule lowered for one rank: kernels with their pointers, set up before the first step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <utility>

#include "../../../meta/list.hpp"
#include "../communication/all_reduce.hpp"
#include "../kernels/kernel.hpp"
#include "../kernels/update.hpp"
#include "behind.hpp"

namespace cleave::backend::host {

enum class Act : unsigned char {
  Kernel,  // call, or make_sums
  Merge,   // to += from: two branches of a sum
  MergeBatchSums,
  Round,    // to the format of the data
  Reclaim,  // wait until no rank reads a bucket's sums of the step before
  Convert,
  Sum,  // of batch sums, over the ranks; blocks
  Start,
  Add,
  Norm,
  Update,
  UpdateWeight
};

/// Arguments of a weight update: master, copy (null when it is the master), moments `apart` elements from each other.
template <class T> struct Stepping {
  using A = tensor::accumulate_t<T>;
  A* weights = nullptr;
  T* copies = nullptr;
  A* moments = nullptr;
  long apart = 0;
  A* kept = nullptr;  // if set, gradients are added to it, and the optimizer is on a server
  A own_rate = 0;     // with kept gradients: the rate at which local weights are updated by plain SGD
  optim::Now<A> now{};
  A scale = 1;  // of gradients that are clipped

  template <class Optimizer, class G> void step(long offset, long count, G const* g) const {
    if (kept) {
      for (long i = 0; i < count; ++i) kept[offset + i] += static_cast<A>(g[i]);
      if (own_rate != 0) {
        for (long i = 0; i < count; ++i) weights[offset + i] -= own_rate * static_cast<A>(g[i]);
        for (long i = 0; copies && i < count; ++i) copies[offset + i] = static_cast<T>(weights[offset + i]);
      }
      return;
    }
    update<Optimizer, T>(weights + offset, copies ? copies + offset : nullptr, g, moments + offset, apart, count, now,
                         scale);
  }
};

/// An operation's gradient and its weights' update in one; `offset` is that of its first weight, followed by the
/// second.
template <class Op, op::Local L, class Optimizer, class T>
void update_weight(Context c, op::Operands<T> const& t, Stepping<T> const& s, long offset) {
  auto const step = [&](long at, long count, auto const* g) { s.template step<Optimizer>(offset + at, count, g); };
  if constexpr (requires { Kernel<Op>::template update_weight<L>(c, t, step); }) {
    Kernel<Op>::template update_weight<L>(c, t, step);
  } else {
    Kernel<Op>::template backward_weight<L>(c, t);
    step(0, L.w0.size(), t.dw0);
    if constexpr (Op::weights > 1) step(L.w0.size(), L.w1.size(), t.dw1);
  }
}

template <class T, class On = Host> struct Action {
  using A = tensor::accumulate_t<T>;
  using S = tensor::batch_sum_t<T>;
  using Context = typename On::Context;
  using Call = void (*)(Context, op::Operands<T> const&);
  using Update = void (*)(Context, op::Operands<T> const&, Stepping<T> const&, long);
  using Branches = typename On::template Branches<A>;
  using MakeSums = void (*)(Context, op::Operands<T> const&, Branches const&);
  Act act = Act::Kernel;
  Call call = nullptr;
  MakeSums make_sums = nullptr;  // sums of several slices, merged as they are computed
  Update update = nullptr;
  op::Operands<T> t;
  std::shared_ptr<op::Operands<T>[]> tail;  // what t points at
  Branches branches;
  int step = 0;  // in the schedule
  int bucket = 0;
  A *to = nullptr, *from = nullptr;
  S *sum_to = nullptr, *sum_from = nullptr;  // operands of Sum and MergeBatchSums
  T *add_to = nullptr, *add_from = nullptr;
  long n = 0;
  bool rounded = false;  // for Merge
};

template <class T, class On> struct Kernels {
  typename Action<T, On>::Call forward = nullptr, backward_input = nullptr, backward_weight = nullptr;
  typename Action<T, On>::MakeSums make_sums = nullptr;
  typename Action<T, On>::Update update_weight = nullptr;
  typename Action<T, On>::Call linked[2]{};  // forward, backward: this step and those fused with it
  bool takes_slices = false;
};

/// The functions of every node of program P. They depend on operation, extents and format only: equal layers share
/// them.
template <class P, class On> struct Table {
  using T = typename P::number;
  static constexpr bool sends_factors = [] {
    for (int b = 0; b < P::schedule.buckets; ++b) {
      if (P::schedule.bucket[b].factors > 0) return true;
    }
    return false;
  }();

  template <int K> static constexpr Kernels<T, On> kernels() {
    constexpr place::Node const& n = P::placed.node[K];
    if constexpr (n.op >= 0) {
      using Op = meta::at<typename P::ops, static_cast<std::size_t>(n.op)>;
      constexpr bool bias = P::schedule.bias[K] >= 0;
      using Kernel = typename On::template Kernel<Op>;
      Kernels<T, On> k;
      k.takes_slices = On::template takes_slices<Op>;
      if constexpr (On::template sums_slices<Op, n.local, T>) k.make_sums = &Kernel::template sum<n.local, T>;
      if constexpr (P::schedule.tail(K, true) > 0) {
        k.backward_input = &Behind<P, K, true, On>::template backward_input<Op, n.local, T>;
      } else if constexpr (!P::schedule.in_backward_tail[K]) {
        k.backward_input = &Kernel::template backward_input<n.local, T>;
      }
      constexpr bool may_fuse =
          On::updates_in_gradients && P::micro_batches == 1 && Op::weights > 0 && Op::inputs == 1 && !P::clips;
      if constexpr (may_fuse) k.update_weight = &host::update_weight<Op, n.local, typename P::optimizer, T>;
      constexpr bool by_slice = !may_fuse || P::replicas != 1, by_sums = On::template sums_slices<Op, n.local, T>;
      if constexpr (by_slice && (!by_sums || sends_factors))
        k.backward_weight = &Kernel::template backward_weight<n.local, T>;
      using Map = map_of<P, P::schedule.map[K]>;
      if constexpr (P::schedule.tail(K, false) > 0) {
        k.forward = &Behind<P, K, false, On>::template forward<Op, n.local, bias, Map, T>;
      } else if constexpr (P::schedule.head[K] == K && !P::schedule.in_forward_tail[K]) {
        k.forward = &Kernel::template forward<n.local, bias, Map, T>;
      }
      constexpr int forth = P::schedule.step_of(schedule::Do::Forward, K);
      constexpr int back = P::schedule.step_of(schedule::Do::BackwardInput, K);
      if constexpr (On::template links<P, forth>) k.linked[false] = &On::template linked<P, forth>;
      if constexpr (On::template links<P, back>) k.linked[true] = &On::template linked<P, back>;
      return k;
    } else {
      return {};
    }
  }
  template <std::size_t... K> static constexpr auto make(std::index_sequence<K...>) {
    struct {
      Kernels<T, On> of[sizeof...(K)];
    } made{{kernels<static_cast<int>(K)>()...}};
    return made;
  }
  static constexpr auto table = make(std::make_index_sequence<static_cast<std::size_t>(P::placed.count)>{});
};

}  // namespace cleave::backend::host
