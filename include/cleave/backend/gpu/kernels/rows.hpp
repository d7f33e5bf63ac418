// backend/gpu/kernels/rows.hpp - kernels over a sample's features: losses with their gradients, and layer and group normalisation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../../../op/layer_norm.hpp"
#include "../../../op/loss.hpp"
#include "../../../op/per_position.hpp"
#include "../../../op/scaled_loss.hpp"
#include "../../../op/weighted_loss.hpp"
#include "kernel.hpp"

namespace cleave::backend::gpu {

// The loss of row b of `rows` and, with `WithGradient`, the gradient of its features, by one team; past the last row
// the team only takes part in barriers.
template <class Op> struct SoftmaxRow {
  template <class Of, op::Local L, bool WithGradient, class Ctx, class T>
  CLEAVE_HD static tensor::accumulate_t<T> loss(Ctx const& c, op::Operands<T> const& t, long b, long rows) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    int const me = Of::member(c);
    bool const there = b < rows;
    T const* const x = t.x + (there ? b : 0) * n;
    A top = static_cast<A>(x[0]), sum = 0;
    for (long i = me; i < n; i += Of::size) top = Max::join(top, static_cast<A>(x[i]));
    top = Of::template over<Max>(c, top);
    for (long i = me; i < n; i += Of::size) sum += std::exp(static_cast<A>(x[i]) - top);
    sum = Of::template over<Sum>(c, sum);
    A sum_x = 0;
    if constexpr (Op::smoothed) {
      for (long i = me; i < n; i += Of::size) sum_x += static_cast<A>(x[i]);
      sum_x = Of::template over<Sum>(c, sum_x);
    }
    if (!there) return 0;
    int const label = t.labels[b] == op::ignored ? 0 : t.labels[b];  // its result is not used then
    if constexpr (WithGradient) {
      for (long i = me; i < n; i += Of::size) {
        A const p = std::exp(static_cast<A>(x[i]) - top) / sum;
        t.dx[b * n + i] = static_cast<T>((p - Op::template target<A>(i == label, n)) * t.scale);
      }
    }
    return std::log(sum) + top - Op::of_target(static_cast<A>(x[label]), sum_x, n);
  }
};
struct SquaredRow {
  template <class Of, op::Local L, bool WithGradient, class Ctx, class T>
  CLEAVE_HD static tensor::accumulate_t<T> loss(Ctx const& c, op::Operands<T> const& t, long b, long rows) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    A sum = 0;
    for (long i = Of::member(c); b < rows && i < n; i += Of::size) {
      A const gap = op::SquaredError::gap(t, b, i, n);
      sum += gap * gap;
      if constexpr (WithGradient) t.dx[b * n + i] = static_cast<T>(A{2} / A{n} * gap * t.scale);
    }
    return Of::template over<Sum>(c, sum) / A{n};
  }
};

template <class F> struct FeatureRow {
  template <class Of, op::Local L, bool WithGradient, class Ctx, class T>
  CLEAVE_HD static tensor::accumulate_t<T> loss(Ctx const& c, op::Operands<T> const& t, long b, long rows) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.x.size();
    A sum = 0;
    for (long i = Of::member(c); b < rows && i < n; i += Of::size) {
      A const x = static_cast<A>(t.x[b * n + i]), target = op::target(t, b, i, n);
      sum += op::loss_of<F>(x, target, i);
      if constexpr (WithGradient)
        t.dx[b * n + i] = static_cast<T>(A{1} / A{n} * op::slope_of<F>(x, target, i) * t.scale);
    }
    return Of::template over<Sum>(c, sum) / A{n};
  }
};

/// As Row, for a loss whose gradient is scaled.
template <class Row, class Loss> struct ScaledRow {
  template <class Of, op::Local L, bool WithGradient, class Ctx, class T>
  CLEAVE_HD static tensor::accumulate_t<T> loss(Ctx const& c, op::Operands<T> const& t, long b, long rows) {
    return Row::template loss<Of, L, WithGradient>(c, Loss::scaled(t), b, rows);
  }
};

/// As Row, with a weight of each row.
template <class Row, class Weights> struct WeightedRow {
  template <class Of, op::Local L, bool WithGradient, class Ctx, class T>
  CLEAVE_HD static tensor::accumulate_t<T> loss(Ctx const& c, op::Operands<T> t, long b, long rows) {
    auto const weight = Weights::of(t, b < rows ? b : 0);
    t.scale *= weight;
    return weight * Row::template loss<Of, L, WithGradient>(c, t, b, rows);
  }
};

/// As Row, of a sample's positions, over which its loss is the mean; what is `ignored` counts as nothing.
template <class Row, int Positions> struct PositionRow {
  template <class Of, op::Local L, bool WithGradient, class Ctx, class T>
  CLEAVE_HD static tensor::accumulate_t<T> loss(Ctx const& c, op::Operands<T> t, long b, long rows) {
    using A = tensor::accumulate_t<T>;
    bool const there = b < rows;
    int const* const labels = t.labels + (there ? b / Positions : 0) * Positions;
    A counted = 0;
    for (int p = Of::member(c); p < Positions; p += Of::size) counted += labels[p] == op::ignored ? A{0} : A{1};
    counted = Of::template over<Sum>(c, counted);
    A const share = there && t.labels[b] != op::ignored ? A{1} / counted : A{0};
    t.scale *= share;
    return Row::template loss<Of, L, WithGradient>(c, t, b, rows) * share;
  }
};

/// A slice's sum of losses and, with `WithGradient`, the gradient of its features, in one pass. One block for each
/// slice: teams take rows in turn, and their sums are added in one order.
template <class Row, op::Local L, bool WithGradient, class T> struct LossOfSlice {
  using Args = op::Operands<T>;
  using A = tensor::accumulate_t<T>;
  static constexpr long n = L.x.size();
  static constexpr bool warps = n <= 1024;
  static constexpr int threads = !warps || L.rows > 8 ? 1024 : 256;
  using Of = Team<warps, threads>;
  static constexpr int shared_bytes = 64 * static_cast<int>(sizeof(A));
  static constexpr bool alone = false;

  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& all) {
    Args const t = op::slice_of<L>(all, c.block(), 0);
    int const me = Of::member(c);
    A total = 0;
    for (long first = 0; first < L.rows; first += Of::in_block) {  // every thread, so that all reach the barriers
      A const loss = Row::template loss<Of, L, WithGradient>(c, t, first + c.thread() / Of::size, L.rows);
      if (me == 0) total += loss;
    }
    total = over_block<Sum>(c, total, reinterpret_cast<A*>(c.shared()) + 32);
    if (c.thread() == 0) *t.loss = total;
  }
};

/// The same for many rows: teams over all blocks store the loss of each row; then one block adds these.
template <class Row, op::Local L, bool WithGradient, class T> struct LossOfRows {
  using A = tensor::accumulate_t<T>;
  struct Args {
    op::Operands<T> of;
    A* losses;  // (rows of all slices)
  };
  static constexpr long n = L.x.size();
  using Of = team_for<n>;
  static constexpr int threads = Of::size * Of::in_block, shared_bytes = 64 * static_cast<int>(sizeof(A));
  static constexpr bool alone = false;
  static int blocks(int slices) { return blocks_for(long{L.rows} * slices, Of::in_block); }

  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& args) {
    long const b = Of::row(c), rows = long{L.rows} * args.of.slices;
    A const loss = Row::template loss<Of, L, WithGradient>(c, args.of, b, rows);
    if (b < rows && Of::member(c) == 0) args.losses[b] = loss;
  }
};
/// One block for each loss: the sum of n numbers, in one order.
template <class A> struct AddUp {
  struct Args {
    A* loss;
    A const* of;
    long n;
  };
  static constexpr int threads = 1024, shared_bytes = 32 * static_cast<int>(sizeof(A));
  static constexpr bool alone = false;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    A sum = 0;
    for (long i = c.thread(); i < a.n; i += threads) sum += a.of[c.block() * a.n + i];
    sum = over_block<Sum>(c, sum, reinterpret_cast<A*>(c.shared()));
    if (c.thread() == 0) a.loss[c.block()] = sum;
  }
};

/// With another number of positions of x, its first dimension.
constexpr op::Local with_positions(op::Local l, int positions) {
  l.x = l.x.with(0, positions);
  return l;
}
template <class Op, class Row> struct LossKernel : ByDefinition<Op> {
  static constexpr bool loss_with_gradient = true;
  template <op::Local L, bool, class, class T, class Q> static void forward(Q q, op::Operands<T> const& t) {
    put<L, false>(q, t);
  }
  template <op::Local L, class T, class Q> static void backward_input(Q q, op::Operands<T> const& t) {
    put<L, true>(q, t);
  }

 private:
  template <op::Local L, bool WithGradient, class T, class Q> static void put(Q q, op::Operands<T> const& t) {
    if constexpr (L.labels > L.x[0] && L.labels > 1) {  // the logits of some positions, and what is known of all
      constexpr op::Local all = op::by_position(with_positions(L, L.labels));
      for (int s = 0; s < t.slices; ++s)
        put_rows<PositionRow<Row, L.labels>, all, WithGradient>(q, op::slice_of<L>(t, s, 0));
    } else if constexpr (L.labels > 1) {
      put_rows<PositionRow<Row, L.labels>, op::by_position(L), WithGradient>(q, t);
    } else {
      put_rows<Row, L, WithGradient>(q, t);
    }
  }
  template <class RowKind, op::Local L, bool WithGradient, class T, class Q>
  static void put_rows(Q q, op::Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    if constexpr (L.rows <= 64 || L.rows * long{sizeof(A)} > Q::workspace_bytes) {
      q.template launch<LossOfSlice<RowKind, L, WithGradient, T>>(t.slices, t);
    } else {
      using K = LossOfRows<RowKind, L, WithGradient, T>;
      constexpr int most = static_cast<int>(Q::workspace_bytes / (L.rows * long{sizeof(A)}));
      A* const losses = reinterpret_cast<A*>(q.workspace);
      for (int first = 0; first < t.slices; first += most) {
        op::Operands<T> now = op::slice_of<L>(t, first, 0);
        now.slices = t.slices - first < most ? t.slices - first : most;
        q.template launch<K>(K::blocks(now.slices), {now, losses});
        q.template launch<AddUp<A>>(now.slices, {now.loss, losses, L.rows});
      }
    }
  }
};
template <class Op> struct RowOf;
template <int Percent> struct RowOf<op::SoftmaxWithSmoothing<Percent>> {
  using is = SoftmaxRow<op::SoftmaxWithSmoothing<Percent>>;
};
template <class Loss, int... Percent> struct RowOf<op::WeightedLoss<Loss, Percent...>> {
  using is = WeightedRow<typename RowOf<Loss>::is, op::WeightsOfClasses<Percent...>>;
};
template <class Loss>
requires requires { typename RowOf<Loss>::is; }
struct RowOf<op::SampleWeightedLoss<Loss>> {
  using is = WeightedRow<typename RowOf<Loss>::is, op::WeightsOfSamples>;
};
template <> struct RowOf<op::SquaredError> { using is = SquaredRow; };
template <class F> struct RowOf<op::FeatureLoss<F>> { using is = FeatureRow<F>; };
template <class Loss>
requires requires { typename RowOf<Loss>::is; }
struct RowOf<op::OnEachPosition<Loss>> : RowOf<Loss> {};
template <class Loss, class Scale>
requires requires { typename RowOf<Loss>::is; }
struct RowOf<op::ScaledLoss<Loss, Scale>> {
  using is = ScaledRow<typename RowOf<Loss>::is, op::ScaledLoss<Loss, Scale>>;
};
template <class Op>
requires requires { typename RowOf<Op>::is; }
struct Kernel<Op> : LossKernel<Op, typename RowOf<Op>::is> {};

/// Normalises each of the `Op::parts_of_sample` equal parts of a sample; so many neighbouring features have one scale
/// and one shift as `Op::features_of_weight` says.
template <class Op, op::Local L, bool Forward, class T, class Tail = NoTail> struct NormaliseRows {
  using Args = Tailed<T, Tail>;
  using A = tensor::accumulate_t<T>;
  static constexpr long groups = Op::parts_of_sample, n = L.x.size() / groups,
                        each = Op::template features_of_weight<L>;
  using Of = team_for<n>;
  static constexpr int threads = Of::size * Of::in_block, shared_bytes = 64 * static_cast<int>(sizeof(A));
  static constexpr bool alone = false;
  CLEAVE_HD static long rows(op::Operands<T> const& t) { return L.rows * groups * t.slices; }
  static int blocks(op::Operands<T> const& t) { return blocks_for(rows(t), Of::in_block); }

  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& t) {
    int const me = Of::member(c);
    long const b = Of::row(c);
    bool const there = b < rows(t);
    long const first = b % groups * n;  // of the sample's features
    T const* const x = t.x + (there ? b : 0) * n;
    A sum = 0, along = 0;
    if constexpr (Forward) {
      for (long i = me; i < n; i += Of::size) sum += static_cast<A>(x[i]);
      A const mean = Of::template over<Sum>(c, sum) / A{n};
      for (long i = me; i < n; i += Of::size) along += (static_cast<A>(x[i]) - mean) * (static_cast<A>(x[i]) - mean);
      A const squares = Of::template over<Sum>(c, along);
      A const inverse = A{1} / std::sqrt(squares / A{n} + static_cast<A>(Op::epsilon));
      if (!there) return;
      if (me == 0) t.aux[2 * b] = mean, t.aux[2 * b + 1] = inverse;
      for (long i = me; i < n; i += Of::size) {
        A const unit = (static_cast<A>(x[i]) - mean) * inverse;
        long const w = (first + i) / each;
        t.y[b * n + i] = static_cast<T>(unit * static_cast<A>(t.w0[w]) + static_cast<A>(t.w1[w]));
        t.tail(b * n + i);
      }
    } else {
      T const* const dy = t.dy + (there ? b : 0) * n;
      A const mean = t.aux[there ? 2 * b : 0], inverse = t.aux[there ? 2 * b + 1 : 1];
      for (long i = me; i < n; i += Of::size) {
        A const g = static_cast<A>(dy[i]) * static_cast<A>(t.w0[(first + i) / each]);
        sum += g;
        along += g * (static_cast<A>(x[i]) - mean) * inverse;
      }
      sum = Of::template over<Sum>(c, sum);
      along = Of::template over<Sum>(c, along);
      if (!there) return;
      for (long i = me; i < n; i += Of::size) {
        A const g = static_cast<A>(dy[i]) * static_cast<A>(t.w0[(first + i) / each]);
        A const unit = (static_cast<A>(x[i]) - mean) * inverse;
        t.dx[b * n + i] = static_cast<T>(inverse * (g - sum / A{n} - unit * along / A{n}));
        t.tail(b * n + i);
      }
    }
  }
};

}  // namespace cleave::backend::gpu
