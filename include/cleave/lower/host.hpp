// lower/host.hpp - a plan bound to the host: its program, its kernels, its other functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backend/host/execution/functions.hpp"
#include "../backend/host/kernels/attention.hpp"
#include "../backend/host/kernels/bias.hpp"
#include "../backend/host/kernels/convolve.hpp"
#include "../backend/host/kernels/experts.hpp"
#include "../backend/host/kernels/lookup.hpp"
#include "../backend/host/kernels/map.hpp"
#include "../backend/host/kernels/pool.hpp"
#include "../backend/host/kernels/product.hpp"
#include "../backend/host/kernels/recurrence.hpp"
#include "../backend/host/kernels/reshaped.hpp"
#include "../backend/host/kernels/tied.hpp"
#include "../backend/host/kernels/transposed_convolve.hpp"
#include "../send/codec.hpp"
#include "answers.hpp"
#include "table.hpp"

namespace cleave::lower {

namespace host = backend::host;

template <class P> constexpr host::Functions<typename P::number> functions_of() {
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  host::Functions<T> f;
  f.step_sums = [](host::Stepping<T> const& s, long offset, long count, A const* g) {
    s.template step_by<typename P::optimizer>(offset, count, g);
  };
  if constexpr (!std::is_same_v<T, A>) {
    f.step_data = [](host::Stepping<T> const& s, long offset, long count, T const* g) {
      s.template step_by<typename P::optimizer>(offset, count, g);
    };
  }
  if constexpr (P::waits_for_norm) f.gradient_scale = &optim::gradient_scale<typename P::optimizer, A>;
  if constexpr (bool(P::format.encoding) && !P::served) {
    f.encode = &send::encode<typename P::codec, A>;
    f.add = &send::add<typename P::codec, A>;
  }
  bind_for_all<P>(f);
  return f;
}
template <class P> inline constexpr host::Functions<typename P::number> functions = functions_of<P>();

/// Of plan P.
template <class P>
inline constexpr host::Executable<typename P::number> executable{schedule::program<P>, Table<P, host::Host>::table.of,
                                                                 &functions<P>};

}  // namespace cleave::lower
