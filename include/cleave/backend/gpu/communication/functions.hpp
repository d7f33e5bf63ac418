// backend/gpu/communication/functions.hpp - a program with the functions of the plan's layers and policies, as a device enqueues them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../../../schedule/program.hpp"
#include "../../host/execution/actions.hpp"
#include "../../host/execution/feed.hpp"
#include "../kernels/clip.hpp"
#include "../kernels/coder.hpp"
#include "../kernels/device.hpp"
#include "../kernels/move.hpp"

namespace cleave::backend::gpu {

template <class T, class Machine, class Link> class DeviceGradients;  // gradients.hpp

/// What copies and sums tensors of E in exchanges; null where a plan has none of them.
template <class E, class Q> struct Movers {
  void (*copy)(Q const&, E* to, E const* from, CopyExtents const&) = nullptr;
  void (*sum)(Q const&, Summands<E> const&) = nullptr;
};

/// Functions of a plan that are not of one node; N is the format of the data.
template <class N, class Machine, class Link> struct DeviceFunctions {
  using T = N;
  using A = tensor::accumulate_t<T>;
  using Q = Queue<Machine>;
  using Wire = std::conditional_t<sizeof(T) < sizeof(A), T, A>;  // a gradient as it is sent
  // The update of weights by gradients in the format of sums, and in that of the data where it is narrower.
  void (*update_sums)(Q const&, WeightRange<T> const&, Sources<A> const&) = nullptr;
  void (*update_data)(Q const&, WeightRange<T> const&, Sources<T> const&) = nullptr;
  // Of plans with conversions, and with sums over the batch that the model reads.
  Movers<T, Q> values;
  Movers<tensor::batch_sum_t<T>, Q> statistics;
  void (*clear)(Q const&, T* to, CopyExtents const&) = nullptr;  // where ways have unequal parts, or padded rows
  // How gradients become their sum; `take` adds what a peer of a route sends.
  Movers<Wire, Q> gradients;
  void (*take)(Q const&, Addition<A, Wire> const&) = nullptr;
  void (*keep)(Q const&, KeptSum<T> const&) = nullptr;  // where what is kept of sums is wider than gradients
  // Of plans whose gradients have a factor from their norm: the norm, the factor, and the sum over ranks that have
  // parts.
  void (*norm)(DeviceGradients<T, Machine, Link>&, int step, int round) = nullptr;
  void (*gradient_scale)(Q const&, WaySquares<A> const&) = nullptr;
  void (*add_squares)(Q const&, SquaresOfRanks const&) = nullptr;
  // Of a codec, where gradients are encoded (kernels/coder.hpp).
  void (*encode)(Q const&, A const* g, A* left, std::byte* out, long n, std::byte* workspace) = nullptr;
  void (*decode)(Q const&, A* to, long n, Messages const&) = nullptr;
  void (*score)(T const* x, host::Answers const&, schedule::Range rows, long valid, host::Seen&) = nullptr;
  host::Wanted wanted;
};

/// A program with the functions that it names.
template <class N, class Machine, class Link> struct DeviceExecutable {
  schedule::Program program;
  host::Kernels<N, Device<Machine>> const* kernels = nullptr;
  DeviceFunctions<N, Machine, Link> const* functions = nullptr;
};

}  // namespace cleave::backend::gpu
