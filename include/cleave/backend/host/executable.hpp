// backend/host/executable.hpp - a plan bound to the host: its program, its kernels, its other functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../send/codec.hpp"
#include "execution/table.hpp"
#include "gradients/direct.hpp"
#include "gradients/encoded.hpp"
#include "gradients/factors.hpp"
#include "gradients/routed.hpp"
#include "gradients/rows.hpp"
#include "kernels/bias.hpp"
#include "kernels/convolve.hpp"
#include "kernels/lookup.hpp"
#include "kernels/map.hpp"
#include "kernels/pool.hpp"
#include "kernels/product.hpp"

namespace cleave::backend::host {

template <class E> std::unique_ptr<Exchange<typename E::T>> make_exchange(ExchangeContext<typename E::T> const& of) {
  return std::make_unique<E>(of);
}

template <class P> constexpr Functions<typename P::number> functions_of() {
  using T = typename P::number;
  using A = tensor::accumulate_t<T>;
  constexpr bool encodes = bool(P::format.encoding) && !P::served;
  Functions<T> f;
  f.step_sums = [](Stepping<T> const& s, long offset, long count, A const* g) {
    s.template step_by<typename P::optimizer>(offset, count, g);
  };
  if constexpr (!std::is_same_v<T, A>) {
    f.step_data = [](Stepping<T> const& s, long offset, long count, T const* g) {
      s.template step_by<typename P::optimizer>(offset, count, g);
    };
  }
  if constexpr (P::clips)
    f.clip_scale = [](double squares) { return optim::clip_scale<typename P::optimizer, A>(squares); };
  auto const any = [](int schedule::Bucket::*what) {
    for (int b = 0; b < P::schedule.buckets; ++b) {
      if (P::schedule.bucket[b].*what > 0) return true;
    }
    return false;
  };
  if constexpr (any(&schedule::Bucket::row)) f.rows_exchange = &make_exchange<SparseRows<T>>;
  if constexpr (any(&schedule::Bucket::factors)) f.factors_exchange = &make_exchange<Factors<T>>;
  if constexpr (encodes) {
    f.exchange = &make_exchange<Encoded<T>>;
  } else if constexpr (bool(P::format.path)) {
    f.exchange = &make_exchange<Routed<T>>;
  } else {
    f.exchange = &make_exchange<Direct<T>>;
  }
  if constexpr (encodes) {
    f.encode = &send::encode<typename P::codec, A>;
    f.add = &send::add<typename P::codec, A>;
    f.decode = &send::decode<typename P::codec, A>;
  }
  if constexpr (!std::is_void_v<typename P::route>) {
    f.rounds = [](long elements, send::Group g) { return P::route::rounds(elements, g); };
    f.move = [](long elements, int rank, send::Group g, int round) { return P::route::move(elements, rank, g, round); };
  }
  f.score = &score_rows<P, T>;
  f.wanted = wanted<P>();
  return f;
}
template <class P> inline constexpr Functions<typename P::number> functions = functions_of<P>();

/// Of plan P.
template <class P>
inline constexpr Executable<typename P::number> executable{schedule::program<P>, Table<P, Host>::table.of,
                                                           &functions<P>};

}  // namespace cleave::backend::host
