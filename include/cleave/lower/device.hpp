// lower/device.hpp - a plan bound to a device: its program, its kernels, its other functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/gpu/communication/norm.hpp"
#include "../backend/gpu/kernels/class_sums.hpp"
#include "../backend/gpu/kernels/convolve.hpp"
#include "../backend/gpu/kernels/lookup.hpp"
#include "../backend/gpu/kernels/norms.hpp"
#include "../backend/gpu/kernels/product.hpp"
#include "../backend/gpu/kernels/reshaped.hpp"
#include "../backend/gpu/kernels/tied.hpp"
#include "../backend/gpu/kernels/top_k.hpp"
#include "../backend/gpu/kernels/transposed_convolve.hpp"
#include "answers.hpp"
#include "linked.hpp"

namespace cleave::lower {

/// The update of weights by gradients of format G.
template <class Optimizer, class T, class G, class Machine>
void update(gpu::Queue<Machine> const& q, gpu::WeightRange<T> const& r, gpu::Sources<G> const& g) {
  using A = tensor::accumulate_t<T>;
  auto const step = [&](auto const& from) {
    using From = std::remove_cvref_t<decltype(from)>;
    r.groups.each(r.offset, r.count, [&](long at, long n, optim::RunGroup const& group) {
      long const first = at - r.offset;
      gpu::stream<gpu::Update<Optimizer, T, G, From>>(
          q, {r.weights + first, r.copies ? r.copies + first : nullptr, r.moments + first, r.apart, n, r.control, from,
              first, r.count, group});
    });
  };
  if constexpr (optim::ScalesGradients<Optimizer>) {
    step(gpu::Scaled<G, A>{g, r.scale});
  } else {
    step(g);
  }
}
/// Of a replica that pushes its gradients to a server.
template <class T, class G, class Machine>
void keep(gpu::Queue<Machine> const& q, gpu::WeightRange<T> const& r, gpu::Sources<G> const& g) {
  r.groups.each(r.offset, r.count, [&](long at, long n, ParameterGroup const& group) {
    long const first = at - r.offset;
    gpu::stream<gpu::Keep<T, G>>(q, {r.kept + first, r.weights + first, r.copies ? r.copies + first : nullptr, n,
                                     r.control, g, first, r.count, group.rate});
  });
}
template <class P, class G, class Machine> constexpr auto update_of() {
  using T = typename P::number;
  if constexpr (P::pushes_gradients) {
    return &keep<T, G, Machine>;
  } else {
    return &update<typename P::optimizer, T, G, Machine>;
  }
}
template <class Optimizer, class A, class Machine>
void gradient_scale(gpu::Queue<Machine> const& q, gpu::WaySquares<A> const& of) {
  q.template launch<gpu::GradientScale<Optimizer, A>>(1, of);
}

template <class Machine> void add_squares(gpu::Queue<Machine> const& q, gpu::SquaresOfRanks const& of) {
  q.template launch<gpu::AddSquares>(1, of);
}

template <class P> constexpr bool has_step(schedule::Do one, schedule::Do other) {
  for (int s = 0; s < P::schedule.steps; ++s) {
    if (P::schedule.step[s].what == one || P::schedule.step[s].what == other) return true;
  }
  return false;
}
template <class P, class Machine, class Link>
constexpr gpu::DeviceFunctions<typename P::number, Machine, Link> device_functions_of() {
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  constexpr bool narrow = sizeof(T) < sizeof(A), rounded = narrow && P::format.ordered;
  using Q = gpu::Queue<Machine>;
  using S = tensor::batch_sum_t<T>;
  using Functions = gpu::DeviceFunctions<T, Machine, Link>;
  using Wire = typename Functions::Wire;
  constexpr bool encodes = bool(P::format.encoding) && !P::served, routed = bool(P::format.path) && !encodes;
  constexpr bool some_whole = [] {
    for (int b = 0; b < P::schedule.buckets; ++b) {
      if (P::schedule.bucket[b].whole) return true;
    }
    return false;
  }();
  Functions f;
  f.update_sums = update_of<P, A, Machine>();
  if constexpr (narrow) f.update_data = update_of<P, T, Machine>();
  if constexpr (has_step<P>(schedule::Do::Convert, schedule::Do::ConvertBack)) {
    f.values = {&gpu::copy_lines<T, T, Q>, &gpu::sum_lines<T, Q>};
    if constexpr (P::placed.has_unequal_parts(P::signatures, P::request.mesh) || P::placed.has_padded_rows())
      f.clear = &gpu::clear_lines<T, Q>;
  }
  if constexpr (has_step<P>(schedule::Do::Sum, schedule::Do::SumBack))
    f.statistics = {&gpu::copy_lines<S, S, Q>, &gpu::sum_leaves<S, S, false, Q>};
  if constexpr (P::waits_for_norm) {
    f.norm = &gpu::put_norm<T, Machine, Link>;
    f.gradient_scale = &gradient_scale<typename P::optimizer, A, Machine>;
    if constexpr (P::format.zero > 0) f.add_squares = &add_squares<Machine>;
  }
  if constexpr (encodes) {
    using Coded = gpu::Coded<typename P::codec, A>;
    f.encode = &Coded::template write<Q>;
    f.decode = &Coded::template sum<Q>;
  }
  if constexpr (routed) f.take = &gpu::stream<gpu::Take<T, Wire, rounded>, Q>;
  if constexpr (!(encodes || routed) || some_whole) f.gradients.sum = &gpu::sum_leaves<T, Wire, rounded, Q>;
  if constexpr (P::format.keeps_sums) f.keep = &gpu::stream<gpu::AddToKept<T>, Q>;
  if constexpr (routed || Link::remote) f.gradients.copy = &gpu::copy_lines<Wire, Wire, Q>;
  bind_for_all<P>(f);
  return f;
}
template <class P, class Machine, class Link>
inline constexpr auto device_functions = device_functions_of<P, Machine, Link>();

/// Of plan P on a device.
template <class P, class Machine, class Link>
inline constexpr gpu::DeviceExecutable<typename P::number, Machine, Link> device_executable{
    schedule::program<P>, Table<P, gpu::Device<Machine>>::table.of, &device_functions<P, Machine, Link>};

}  // namespace cleave::lower
