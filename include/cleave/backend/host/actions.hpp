// backend/host/actions.hpp - the schedule as this rank will run it: kernels with their pointers, once, before the first
// step. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <utility>

#include "../../meta/list.hpp"
#include "all_reduce.hpp"
#include "kernel.hpp"

namespace cleave::backend::host {

enum class Act : unsigned char {
  Kernel,   // call
  Merge,    // to += from: two branches of a sum
  Round,    // to the format of the data
  Reclaim,  // wait until nobody reads a bucket's sums of the step before
  Convert,
  Sum,  // over the ranks; blocks
  Start,
  Add,
  Update
};

template <class T> struct Action {
  using A = tensor::accumulate_t<T>;
  using Call = void (*)(Context, op::Operands<T> const&);
  Act act = Act::Kernel;
  Call call = nullptr;
  op::Operands<T> t;
  int step = 0;  // in the schedule
  int bucket = 0;
  A *to = nullptr, *from = nullptr;
  T *add_to = nullptr, *add_from = nullptr;
  long n = 0;
};

template <class T> struct Kernels {
  typename Action<T>::Call forward = nullptr, backward_input = nullptr, backward_weight = nullptr;
};

/// The functions of every node of program P. They are named by operation, extents and format only: equal layers share.
template <class P> struct Table {
  using T = typename P::number;

  template <int K> static constexpr Kernels<T> kernels() {
    constexpr place::Node const& n = P::placed.node[K];
    if constexpr (n.op >= 0) {
      using Op = meta::at<typename P::ops, static_cast<std::size_t>(n.op)>;
      constexpr bool bias = P::schedule.bias[K] >= 0;
      Kernels<T> k{nullptr, &Kernel<Op>::template backward_input<n.local, T>,
                   &Kernel<Op>::template backward_weight<n.local, T>};
      if constexpr (P::schedule.map[K] >= 0) {
        constexpr int map = P::placed.node[P::schedule.map[K]].op;
        using Function = typename meta::at<typename P::ops, static_cast<std::size_t>(map)>::function;
        k.forward = &Kernel<Op>::template forward<n.local, bias, Function, T>;
      } else if constexpr (P::schedule.head[K] == K) {
        k.forward = &Kernel<Op>::template forward<n.local, bias, void, T>;
      }
      return k;
    } else {
      return {};
    }
  }
  template <std::size_t... K> static constexpr auto make(std::index_sequence<K...>) {
    struct {
      Kernels<T> of[sizeof...(K)];
    } made{{kernels<static_cast<int>(K)>()...}};
    return made;
  }
  static constexpr auto table = make(std::make_index_sequence<static_cast<std::size_t>(P::placed.count)>{});
};

}  // namespace cleave::backend::host
