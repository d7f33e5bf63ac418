// op/loss.hpp - the last operation: a sample's loss from its features, "bF->b", and the gradient of the loss.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"
#include "operands.hpp"

namespace cleave::op {

/// The loss of a batch is the mean over its samples. `scale` is 1/batch.
struct SoftmaxCrossEntropy : Base {
  static constexpr auto name = "cross_entropy";
  static constexpr auto equation = "bFGH->b";
  static constexpr bool is_loss = true, reads_x = true;
  static constexpr Shape output(Shape) { return Shape(1); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(1, [&](long) {
      A total = 0;
      for (long b = 0; b < L.rows; ++b) {
        T const* const x = t.x + b * n;
        A top = static_cast<A>(x[0]), sum = 0;
        for (long i = 1; i < n; ++i) top = static_cast<A>(x[i]) > top ? static_cast<A>(x[i]) : top;
        for (long i = 0; i < n; ++i) sum += std::exp(static_cast<A>(x[i]) - top);
        total += std::log(sum) + top - static_cast<A>(x[t.labels[b]]);
      }
      *t.loss = total;
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(L.rows, [&](long b) {
      T const* const x = t.x + b * n;
      A top = static_cast<A>(x[0]), sum = 0;
      for (long i = 1; i < n; ++i) top = static_cast<A>(x[i]) > top ? static_cast<A>(x[i]) : top;
      for (long i = 0; i < n; ++i) sum += std::exp(static_cast<A>(x[i]) - top);
      for (long i = 0; i < n; ++i) {
        A const p = std::exp(static_cast<A>(x[i]) - top) / sum;
        t.dx[b * n + i] = static_cast<T>((p - (i == t.labels[b] ? A{1} : A{0})) * t.scale);
      }
    });
  }
};

/// The target of feature i of sample b: that of the feed, or, if the feed has classes, of a one-hot vector.
template <class T> CLEAVE_HD tensor::accumulate_t<T> target(Operands<T> const& t, long b, long i, long n) {
  using A = tensor::accumulate_t<T>;
  return t.targets ? static_cast<A>(t.targets[b * n + i]) : i == t.labels[b] ? A{1} : A{0};
}

/// The mean over a sample's features of F::loss(x, target), whose derivative by x is F::slope(x, target).
template <class F> struct FeatureLoss : Base {
  static constexpr auto name = F::name;
  static constexpr auto equation = "bFGH->b";
  static constexpr bool is_loss = true, reads_x = true;
  static constexpr Target loss_target = F::target;
  using function = F;
  static constexpr Shape output(Shape) { return Shape(1); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(1, [&](long) {
      A total = 0;
      for (long b = 0; b < L.rows; ++b) {
        A sum = 0;
        for (long i = 0; i < n; ++i) sum += F::loss(static_cast<A>(t.x[b * n + i]), op::target(t, b, i, n));
        total += sum / A{n};
      }
      *t.loss = total;
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(L.rows * n, [&](long e) {
      A const slope = F::slope(static_cast<A>(t.x[e]), op::target(t, e / n, e % n, n));
      t.dx[e] = static_cast<T>(A{1} / A{n} * slope * t.scale);
    });
  }
};

/// The mean over a sample's features of (x - target)^2. The target is that of the feed, a number for each feature, or,
/// if the feed has classes, a one-hot vector.
struct SquaredError : Base {
  static constexpr auto name = "mean_squared_error";
  static constexpr auto equation = "bFGH->b";
  static constexpr bool is_loss = true, reads_x = true;
  static constexpr Target loss_target = Target::Either;
  static constexpr Shape output(Shape) { return Shape(1); }

  template <class T> CLEAVE_HD static tensor::accumulate_t<T> gap(Operands<T> const& t, long b, long i, long n) {
    return static_cast<tensor::accumulate_t<T>>(t.x[b * n + i]) - op::target(t, b, i, n);
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(1, [&](long) {
      A total = 0;
      for (long b = 0; b < L.rows; ++b) {
        A sum = 0;
        for (long i = 0; i < n; ++i) sum += gap(t, b, i, n) * gap(t, b, i, n);
        total += sum / A{n};
      }
      *t.loss = total;
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(L.rows * n, [&](long e) { t.dx[e] = static_cast<T>(A{2} / A{n} * gap(t, e / n, e % n, n) * t.scale); });
  }
};

}  // namespace cleave::op
