// backend/host/kernels/update.hpp - one optimizer update of a run of weights: master, moments and the copy that kernels read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../optim/optimizer.hpp"
#include "../../../tensor/each.hpp"
#include "../../../tensor/number.hpp"

namespace cleave::backend::host {

/// The gradient of a weight (rows, Columns) over one sample, x (rows) times dy (Columns); it is not stored.
template <class A, long Columns> struct OuterProduct {
  A const *x, *dy;
  A operator[](long i) const { return x[i / Columns] * dy[i % Columns]; }
  OuterProduct operator+(long whole_rows) const { return {x + whole_rows / Columns, dy}; }
};

/// f(i, gradient i) for all i below n; of an outer product, n are whole rows.
template <class G, class F> void each_gradient(G const* g, long n, F const& f) {
  tensor::each(n, [&](long i) { f(i, g[i]); });
}
template <class A, long Columns, class F> void each_gradient(OuterProduct<A, Columns> g, long n, F f) {
  for (long row = 0; row < n / Columns; ++row) {
    A const x = g.x[row];
    tensor::each(Columns, [&](long o) { f(row * Columns + o, x * g.dy[o]); });
  }
}

/// w (n) in the format of sums; copy (n) in that of the data, null if they are the same; g (n) in either, or an
/// outer product; the moments are `apart` elements from each other. `scale` is the factor of the gradients, if the
/// optimizer has one.
template <class Optimizer, class T, class G>
void update(tensor::accumulate_t<T>* w, T* copy, G g, tensor::accumulate_t<T>* moments, long apart, long n,
            optim::Now<tensor::accumulate_t<T>> const now, tensor::accumulate_t<T> scale = 1) {
  using A = tensor::accumulate_t<T>;
  A const none = 0;
  if constexpr (optim::ScalesLoss<Optimizer>) {
    if (scale == 0) return;
  }
  each_gradient(g, n, [=](long i, auto g_i) {  // captures by value: else the rate is read again after each store
    A m0 = Optimizer::moments > 0 ? moments[i] : none, m1 = Optimizer::moments > 1 ? moments[apart + i] : none,
      value = w[i];
    A gradient = static_cast<A>(g_i);
    if constexpr (optim::ScalesGradients<Optimizer>) gradient *= optim::factor_of_gradients<Optimizer>(now, scale);
    Optimizer::template step<Optimizer, A>(value, gradient, m0, m1, now);
    w[i] = value;
    if constexpr (Optimizer::moments > 0) moments[i] = m0;
    if constexpr (Optimizer::moments > 1) moments[apart + i] = m1;
    if constexpr (sizeof(T) < sizeof(A)) copy[i] = static_cast<T>(value);
  });
}

}  // namespace cleave::backend::host
