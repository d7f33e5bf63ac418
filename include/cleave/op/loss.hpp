// op/loss.hpp - the last operation: a sample's loss from its features, "bF->b", and the gradient of the loss.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../meta/host_device.hpp"
#include "../tensor/elementary.hpp"
#include "operands.hpp"

namespace cleave::op {

/// Of logits x and a class: log(sum exp x) - sum q x, where q is 1 at the class; smoothed by `Percent` p, q is 1 - p /
/// 100 at the class, and p / (100 n) more at each of the n. The loss of a batch is the mean over its samples; `scale`
/// is 1/batch. Source of smoothing: Szegedy et al., "Rethinking the Inception architecture", 2016.
template <int Percent> struct SoftmaxWithSmoothing : Base {
  static constexpr auto name = Percent == 0 ? "cross_entropy" : "smoothed_cross_entropy";
  static constexpr auto equation = "bFGH->b";
  static constexpr bool is_loss = true, reads_x = true, smoothed = Percent > 0;
  static constexpr Shape output(Shape) { return Shape(1); }

  /// q of a class, which is the label or is not.
  template <class A> CLEAVE_HD static A target(bool is_label, long n) {
    if constexpr (Percent == 0) {
      return is_label ? A{1} : A{0};
    } else {
      return (is_label ? A{100 - Percent} / A{100} : A{0}) + A{Percent} / (A{100} * static_cast<A>(n));
    }
  }
  /// The sum of q x, with `sum_x` the sum of all x (of no interest without smoothing).
  template <class A> CLEAVE_HD static A of_target(A x_of_label, A sum_x, long n) {
    if constexpr (Percent == 0) {
      return x_of_label;
    } else {
      return A{100 - Percent} / A{100} * x_of_label + A{Percent} / (A{100} * static_cast<A>(n)) * sum_x;
    }
  }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(1, [&](long) {
      A total = 0;
      for (long b = 0; b < L.rows; ++b) {
        T const* const x = t.x + b * n;
        A top = static_cast<A>(x[0]), sum = 0, sum_x = 0;
        for (long i = 1; i < n; ++i) top = static_cast<A>(x[i]) > top ? static_cast<A>(x[i]) : top;
        for (long i = 0; i < n; ++i) sum += tensor::exp(static_cast<A>(x[i]) - top);
        for (long i = 0; smoothed && i < n; ++i) sum_x += static_cast<A>(x[i]);
        total += std::log(sum) + top - of_target(static_cast<A>(x[t.labels[b]]), sum_x, n);
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
      for (long i = 0; i < n; ++i) sum += tensor::exp(static_cast<A>(x[i]) - top);
      for (long i = 0; i < n; ++i) {
        A const p = tensor::exp(static_cast<A>(x[i]) - top) / sum;
        t.dx[b * n + i] = static_cast<T>((p - target<A>(i == t.labels[b], n)) * t.scale);
      }
    });
  }
};
using SoftmaxCrossEntropy = SoftmaxWithSmoothing<0>;

/// The target of feature i of sample b: that of the feed, or, if the feed has classes, of a one-hot vector.
template <class T> CLEAVE_HD tensor::accumulate_t<T> target(Operands<T> const& t, long b, long i, long n) {
  using A = tensor::accumulate_t<T>;
  return t.targets ? static_cast<A>(t.targets[b * n + i]) : i == t.labels[b] ? A{1} : A{0};
}

/// F::loss(x, target), or F::loss(x, target, i) if F differs between the features i; and its derivative by x.
template <class F, class A> CLEAVE_HD A loss_of(A x, A target, [[maybe_unused]] long i) {
  if constexpr (requires { F::outputs; })
    return F::loss(x, target, i);
  else
    return F::loss(x, target);
}
template <class F, class A> CLEAVE_HD A slope_of(A x, A target, [[maybe_unused]] long i) {
  if constexpr (requires { F::outputs; })
    return F::slope(x, target, i);
  else
    return F::slope(x, target);
}
template <class F> constexpr int outputs_of() {
  if constexpr (requires { F::outputs; })
    return F::outputs;
  else
    return 0;
}

/// The mean over a sample's features of F::loss(x, target), whose derivative by x is F::slope(x, target). If F has
/// `outputs`, both take the feature's number as well, and, if it is not 0, there are so many.
template <class F> struct FeatureLoss : Base {
  static constexpr auto name = F::name;
  static constexpr int classes = outputs_of<F>();
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
        for (long i = 0; i < n; ++i) sum += loss_of<F>(static_cast<A>(t.x[b * n + i]), op::target(t, b, i, n), i);
        total += sum / A{n};
      }
      *t.loss = total;
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    ctx.each(L.rows * n, [&](long e) {
      A const slope = slope_of<F>(static_cast<A>(t.x[e]), op::target(t, e / n, e % n, n), e % n);
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
