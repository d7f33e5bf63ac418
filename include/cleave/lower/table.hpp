// lower/table.hpp - the functions of a plan's nodes on a backend: what a program cannot say as a value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/host/execution/actions.hpp"
#include "../optim/sgd.hpp"
#include "../schedule/schedule.hpp"
#include "behind.hpp"

namespace cleave::lower {

/// Steps an operation's weights by their gradients, or by an outer product; `offset` is of the first weight.
template <class Optimizer, class T> struct StepsWeights {
  static constexpr bool takes_products = optim::is_plain_sgd<Optimizer, tensor::accumulate_t<T>>;
  backend::host::Stepping<T> const& stepping;
  long offset;
  template <class G> void operator()(long at, long count, G g) const {
    stepping.template step_by<Optimizer>(offset + at, count, g);
  }
};

/// An operation's gradient and its weights' step in one; the second weight lies behind the first.
template <class Op, op::Local L, class Optimizer, class T>
void update_weight(backend::host::Context c, op::Operands<T> const& t, backend::host::Stepping<T> const& s,
                   long offset) {
  using Kernel = backend::host::Kernel<Op>;
  StepsWeights<Optimizer, T> const step{s, offset};
  if constexpr (requires { Kernel::template update_weight<L>(c, t, step); }) {
    Kernel::template update_weight<L>(c, t, step);
  } else {
    Kernel::template backward_weight<L>(c, t);
    step(0, L.w0.size(), t.dw0);
    if constexpr (Op::weights > 1) step(L.w0.size(), L.w1.size(), t.dw1);
  }
}

/// One kernel for the step of plan P that does this to node K and those linked to it; specialised for backends that
/// have such kernels.
template <class P, schedule::Do What, int K, class On> struct LinkedSteps { static constexpr bool may = false; };

/// The functions of every node of plan P. They are named by operation, extents and format only: equal layers share.
template <class P, class On> struct Table {
  using T = typename P::number;
  using Kernels = backend::host::Kernels<T, On>;
  static constexpr bool sends_factors = [] {
    for (int b = 0; b < P::schedule.buckets; ++b) {
      if (P::schedule.bucket[b].factors > 0) return true;
    }
    return false;
  }();

  template <int K> static constexpr Kernels kernels() {
    constexpr auto const& n = P::placed.node[K];
    if constexpr (n.op >= 0) {
      using Op = op_at<P, K>;
      constexpr bool bias = P::schedule.bias[K] >= 0;
      using Kernel = typename On::template Kernel<Op>;
      Kernels k;
      k.takes_slices = On::template takes_slices<Op>;
      k.loss_with_gradient = Op::is_loss && On::template loss_with_gradient<Op>;
      constexpr bool trains = !P::infers, runs = trains || !(Op::is_loss || Op::of_loss);
      if constexpr (trains && On::template sums_slices<Op, n.local, T>) k.make_sums = &Kernel::template sum<n.local, T>;
      if constexpr (!trains) {
        // no gradient
      } else if constexpr (P::schedule.tail(K, true) > 0) {
        k.backward_input = &Behind<P, K, true, On>::template backward_input<Op, n.local, T>;
      } else if constexpr (!P::schedule.in_backward_tail[K]) {
        k.backward_input = &Kernel::template backward_input<n.local, T>;
      }
      constexpr bool may_fuse = trains && On::updates_in_gradients && P::micro_batches == 1 && Op::weights > 0 &&
                                Op::inputs == 1 && !P::waits_for_norm && !P::request.cuts_positions.any();
      if constexpr (may_fuse) k.update_weight = &lower::update_weight<Op, n.local, typename P::optimizer, T>;
      constexpr bool by_slice = trains && (!may_fuse || P::replicas != 1),
                     by_sums = On::template sums_slices<Op, n.local, T>;
      if constexpr (by_slice && (!by_sums || sends_factors))
        k.backward_weight = &Kernel::template backward_weight<n.local, T>;
      using Map = map_of<P, P::schedule.map[K]>;
      if constexpr (P::schedule.tail(K, false) > 0) {
        k.forward = &Behind<P, K, false, On>::template forward<Op, n.local, bias, Map, T>;
      } else if constexpr (runs && P::schedule.head[K] == K && !P::schedule.in_forward_tail[K]) {
        k.forward = &Kernel::template forward<n.local, bias, Map, T>;
      }
      using Forth = LinkedSteps<P, schedule::Do::Forward, K, On>;
      using Back = LinkedSteps<P, schedule::Do::BackwardInput, K, On>;
      if constexpr (Forth::may) k.linked[false] = &Forth::put;
      if constexpr (Back::may) k.linked[true] = &Back::put;
      return k;
    } else {
      return {};
    }
  }
  template <std::size_t... K> static constexpr auto make(std::index_sequence<K...>) {
    struct {
      Kernels of[sizeof...(K)];
    } made{{kernels<static_cast<int>(K)>()...}};
    return made;
  }
  static constexpr auto table = make(std::make_index_sequence<static_cast<std::size_t>(P::placed.count)>{});
};

}  // namespace cleave::lower
