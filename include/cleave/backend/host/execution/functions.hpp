// backend/host/execution/functions.hpp - a program with the functions of the plan's layers and policies, by their format.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../schedule/program.hpp"
#include "../../../send/route.hpp"
#include "actions.hpp"
#include "feed.hpp"

namespace cleave::backend::host {

/// Functions of a plan that are not of one node; N is the format of the data.
template <class N> struct Functions {
  using T = N;
  using A = tensor::accumulate_t<T>;
  decltype(Stepping<T>::step_sums) step_sums = nullptr;
  decltype(Stepping<T>::step_data) step_data = nullptr;
  A (*gradient_scale)(double squares, A* state) = nullptr;  // optim::gradient_scale
  // Of a codec, where gradients are encoded (send/codec.hpp).
  void (*encode)(long n, A const* g, A* left, std::byte* out) = nullptr;
  void (*add)(long n, std::byte const* in, A* to) = nullptr;  // to += the decoded message
  void (*score)(T const* x, Answers const&, schedule::Range rows, long valid, Seen&) = nullptr;
  Wanted wanted;
};

/// A program with the functions that it names.
template <class N> struct Executable {
  schedule::Program program;
  Kernels<N, Host> const* kernels = nullptr;
  Functions<N> const* functions = nullptr;
};
}  // namespace cleave::backend::host
