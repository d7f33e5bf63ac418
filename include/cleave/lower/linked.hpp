// lower/linked.hpp - the chains of small products of a plan that a device computes in one kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/gpu/kernels/device.hpp"
#include "../backend/gpu/kernels/linked.hpp"
#include "table.hpp"

namespace cleave::lower {

namespace gpu = backend::gpu;

/// Node N of plan P, forward or backward, as such a product; void if it has no such kernel.
template <class P, int N, bool Back> constexpr auto link_case() {
  using T = typename P::number;
  using K = gpu::Kernel<op_at<P, N>>;
  constexpr op::Local local = P::placed.node[N].local;
  using Tail = typename std::conditional_t<(P::schedule.tail(N, Back) > 0), TailAt<P, N, Back>,
                                           std::type_identity<gpu::NoTail>>::type;
  if constexpr (!requires { requires K::links; } || tensor::scaled<T> || !gpu::may_trail<Tail>) {
    return meta::type<void>{};
  } else if constexpr (Back) {
    return meta::type<typename K::template Input<Tail, local, T>>{};
  } else {
    using Map = map_of<P, P::schedule.map[N]>;
    return meta::type<typename K::template Forward<Tail, local, (P::schedule.bias[N] >= 0), Map, T>>{};
  }
}
/// Step S of plan P.
template <class P, int S> struct LinkAt {
  static constexpr schedule::Step step = P::schedule.step[S];
  static constexpr bool back = step.what == schedule::Do::BackwardInput;
  static constexpr int tail = P::schedule.tail(step.node, back);
  using Case = typename decltype(link_case<P, step.node, back>())::is;
  static constexpr bool links = !std::is_void_v<Case>;
};

/// The chain of plan P that begins with step S. If a library may compute products, each product is a separate task; and
/// where each is large enough for warpgroups.
template <class P, int S, class I = std::make_integer_sequence<int, P::schedule.links(S) + 1>> struct LinkedFrom;
template <class P, int S, int... I> struct LinkedFrom<P, S, std::integer_sequence<int, I...>> {
  static constexpr bool may = [] {
    if constexpr (sizeof...(I) < 2 || !(LinkAt<P, S + I>::links && ...)) {
      return false;
    } else {  // a kernel takes at most 32,764 bytes of arguments
      return sizeof(typename gpu::Linked<typename LinkAt<P, S + I>::Case...>::Args) <= 32'000;
    }
  }();

  template <class Q> static void put(Q q, op::Operands<typename P::number> const& t) {
    op::Operands<typename P::number> const* of[sizeof...(I)] = {&t};
    for (std::size_t i = 1; i < sizeof...(I); ++i) of[i] = of[i - 1]->tail + tails[i - 1];
    if constexpr (requires { q.machine->products(); }) {
      if (q.library != gpu::Library::Never) return (gpu::contract<typename LinkAt<P, S + I>::Case>(q, *of[I]), ...);
    }
    if constexpr ((gpu::better_by_groups<typename LinkAt<P, S + I>::Case>() && ...)) {
      if (q.machine->has_warpgroups()) return (gpu::contract<typename LinkAt<P, S + I>::Case>(q, *of[I]), ...);
    }
    using K = gpu::Linked<typename LinkAt<P, S + I>::Case...>;
    typename K::Args args{};
    fill(args, of, t.slices);
    q.template launch<K>(gpu::blocks_for(LinkAt<P, S>::Case::m * t.slices, K::rows), args);
  }

 private:
  static constexpr int tails[] = {LinkAt<P, S + I>::tail...};
  template <class Args, class T> static void fill(Args& args, op::Operands<T> const* const* of, int slices) {
    args.now = {**of, nullptr, 0, slices};
    if constexpr (requires { args.next; }) fill(args.next, of + 1, slices);
  }
};

/// Whether a step of plan P is linked to the one before.
template <class P>
inline constexpr bool links_steps = [] {
  for (int s = 0; s < P::schedule.steps; ++s) {
    if (P::schedule.step[s].linked) return true;
  }
  return false;
}();
template <class P, schedule::Do What, int K> constexpr int first_of_chain() {
  if constexpr (links_steps<P>) {
    constexpr int step = P::schedule.step_of(What, K);
    if constexpr (step >= 0) {
      if constexpr (P::schedule.links(step) > 0) return LinkedFrom<P, step>::may ? step : -1;
    }
  }
  return -1;
}
template <class P, schedule::Do What, int K, class Machine> struct LinkedSteps<P, What, K, gpu::Device<Machine>> {
  static constexpr int step = first_of_chain<P, What, K>();
  static constexpr bool may = step >= 0;
  static void put(gpu::Queue<Machine> q, op::Operands<typename P::number> const& t) { LinkedFrom<P, step>::put(q, t); }
};

}  // namespace cleave::lower
