// backend/gpu/kernels/norms.hpp - layer, group and batch normalisation: over rows, and with sums over the batch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/batch_norm.hpp"
#include "../../../op/ghost_norm.hpp"
#include "../../../op/group_norm.hpp"
#include "columns.hpp"
#include "rows.hpp"

namespace cleave::backend::gpu {

/// The gradients of the scales and shifts of NormaliseRows.
template <class Op, op::Local L, class T_> struct NormaliseRowsSum {
  using T = T_;
  using Args = Summing<T>;
  using A = tensor::accumulate_t<T>;
  static constexpr long below = Op::template features_of_weight<L>, terms = L.rows * below;
  static constexpr int outputs = static_cast<int>(L.x.size() / below);
  CLEAVE_HD static Two<A> term(Args const& t, int w, long r) {
    constexpr long part = L.x.size() / Op::parts_of_sample;
    long const b = r / below, feature = w * below + r % below, e = b * L.x.size() + feature;
    long const p = b * Op::parts_of_sample + feature / part;
    A const dy = static_cast<A>(t.dy[e]);
    return {dy * (static_cast<A>(t.x[e]) - t.aux[2 * p]) * t.aux[2 * p + 1], dy};
  }
  CLEAVE_HD static void done(Args const& t, Turn<T>& turn, int w, Two<A> s) {
    turn.put(weights(t.to.dw0, [&](auto f) { f(w, s.first); }), weights(t.to.dw1, [&](auto f) { f(w, s.second); }));
  }
};

template <op::Local L, class T_> struct BatchSum {
  using T = T_;
  using Args = Summing<T>;
  using A = tensor::batch_sum_t<T>;
  static constexpr int outputs = L.x[0];
  static constexpr long below = L.x.stride(0), terms = L.rows * below;
  CLEAVE_HD static Two<A> term(Args const& t, int c, long r) {
    A const v = static_cast<A>(t.x[element<BatchSum>(c, r)]);
    return {v, v * v};
  }
  CLEAVE_HD static void done(Args const& t, Turn<T>& turn, int c, Two<A> s) {
    turn.put(statistics(t.to.stats, [&](auto f) { f(c, s.first), f(outputs + c, s.second); }));
  }
};

template <op::Local L, class T_> struct NormaliseSum {
  using T = T_;
  using Args = Summing<T>;
  using A = tensor::accumulate_t<T>;
  static constexpr int outputs = L.x[0];
  static constexpr long below = L.x.stride(0), terms = L.rows * below;
  CLEAVE_HD static Two<A> term(Args const& t, int c, long r) {
    auto const m = op::Normalise::moments<L>(static_cast<op::Operands<T> const&>(t), c);
    long const e = element<NormaliseSum>(c, r);
    A const dy = static_cast<A>(t.dy[e]);
    return {dy, dy * m.from_mean(static_cast<A>(t.x[e])) * m.inverse};
  }
  CLEAVE_HD static void done(Args const& t, Turn<T>& turn, int c, Two<A> s) {
    auto g = op::Normalise::gradients<L>(static_cast<op::Operands<T> const&>(t), c, s.first, s.second);
    turn.put(weights(t.to.dw0, [&](auto f) { f(c, g.scale); }), weights(t.to.dw1, [&](auto f) { f(c, g.shift); }),
             statistics(t.to.stats, [&](auto f) { f(c, g.mean), f(outputs + c, g.variance); }));
  }
};

/// y, or the part of dx that does not depend on the sums, element by element.
template <op::Local L, bool Forward, class T, class Tail = NoTail> struct NormaliseEach {
  using Args = Tailed<T, Tail>;
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& ctx, Args const& t) {
    using A = tensor::accumulate_t<T>;
    ctx.each(L.rows * L.x.size() * t.slices, [&](long e) {
      long const c = e / L.x.stride(0) % L.x[0];
      auto const m = op::Normalise::moments<L>(static_cast<op::Operands<T> const&>(t), c);
      A const scale = m.inverse * static_cast<A>(t.w0[c]);
      if constexpr (Forward) {
        t.y[e] = static_cast<T>(m.from_mean(static_cast<A>(t.x[e])) * scale + static_cast<A>(t.w1[c]));
      } else {
        t.dx[e] = static_cast<T>(static_cast<A>(t.dy[e]) * scale);
      }
      t.tail(e);
    });
    if constexpr (Forward) {
      if (t.pass->training && t.where.first_slice) op::Normalise::keep<L>(ctx, static_cast<op::Operands<T> const&>(t));
    }
  }
};

/// One block for each channel of a slice.
template <op::Local L, bool Forward, class T_> struct NormaliseSlice {
  using T = T_;
  using Args = op::Operands<T>;
  using Op = op::NormaliseMicroBatch;
  using A = tensor::accumulate_t<T>;
  using S = tensor::batch_sum_t<T>;
  static constexpr int outputs = L.x[0], threads = 256, shared_bytes = threads / lanes * static_cast<int>(sizeof(S));
  static constexpr bool alone = false;
  static constexpr long n = Op::count<L>, below = L.x.stride(0), aux = Op::aux(L.x, L.y);
  static int blocks(Args const& t) { return outputs * t.slices; }

  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& all) {
    Args const t = op::slice_of<L>(all, c.block() / outputs, aux);
    int const channel = c.block() % outputs;
    auto* const line = reinterpret_cast<S*>(c.shared());
    auto const over_channel = [&](auto term) {
      S sum{0};
      for (long i = c.thread(); i < n; i += threads) sum += term(element<NormaliseSlice>(channel, i));
      return over_block<Sum>(c, sum, line);
    };
    if constexpr (Forward) {
      A mean = static_cast<A>(t.w0[channel]), scale = op::Normalise::inverse(static_cast<A>(t.w1[channel]));
      if (t.pass->training) {
        S const middle = tensor::mean_of(over_channel([&](long e) { return static_cast<S>(t.x[e]); }), n);
        S const squares = over_channel([&](long e) {
          S const from = static_cast<S>(t.x[e]) - middle;
          return from * from;
        });
        if (c.thread() == 0) Op::keep<L>(t, channel, middle, squares);
        mean = static_cast<A>(middle), scale = op::Normalise::inverse(static_cast<A>(tensor::mean_of(squares, n)));
      }
      for (long i = c.thread(); i < n; i += threads) {
        long const e = element<NormaliseSlice>(channel, i);
        t.y[e] = static_cast<T>((static_cast<A>(t.x[e]) - mean) * scale);
      }
    } else {
      S const sum = over_channel([&](long e) { return static_cast<S>(t.dy[e]); }),
              along = over_channel([&](long e) { return static_cast<S>(t.dy[e]) * static_cast<S>(t.y[e]); });
      A const shift = static_cast<A>(tensor::mean_of(sum, n)), slope = static_cast<A>(tensor::mean_of(along, n)),
              scale = t.aux[2 * outputs + channel];
      for (long i = c.thread(); i < n; i += threads) {
        long const e = element<NormaliseSlice>(channel, i);
        t.dx[e] = static_cast<T>((static_cast<A>(t.dy[e]) - shift - static_cast<A>(t.y[e]) * slope) * scale);
      }
    }
  }
};

template <op::Local L, class T_> struct ScaleSum {
  using T = T_;
  using Args = Summing<T>;
  using A = tensor::accumulate_t<T>;
  static constexpr int outputs = L.x[0];
  static constexpr long below = L.x.stride(0), terms = L.rows * below;
  CLEAVE_HD static Two<A> term(Args const& t, int c, long r) {
    long const e = element<ScaleSum>(c, r);
    A const dy = static_cast<A>(t.dy[e]);
    return {dy * static_cast<A>(t.x[e]), dy};
  }
  CLEAVE_HD static void done(Args const& t, Turn<T>& turn, int c, Two<A> s) {
    turn.put(weights(t.to.dw0, [&](auto f) { f(c, s.first); }), weights(t.to.dw1, [&](auto f) { f(c, s.second); }));
  }
};
/// y or dx, element by element.
template <op::Local L, bool Forward, class T, class Tail = NoTail> struct ScaleEach {
  using Args = Tailed<T, Tail>;
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& t) {
    using A = tensor::accumulate_t<T>;
    c.each(L.rows * L.x.size() * t.slices, [&](long e) {
      long const channel = e / L.x.stride(0) % L.x[0];
      A const scale = static_cast<A>(t.w0[channel]);
      if constexpr (Forward) {
        t.y[e] = static_cast<T>(static_cast<A>(t.x[e]) * scale + static_cast<A>(t.w1[channel]));
      } else {
        t.dx[e] = static_cast<T>(static_cast<A>(t.dy[e]) * scale);
      }
      t.tail(e);
    });
  }
};

template <class Op> struct NormaliseRowsKernel : TakesTails<Kernel<Op>> {
  template <class Tail, op::Local L, bool, class, class T, class Q>
  static void forward_with(Q q, op::Operands<T> const& t) {
    q.template launch<NormaliseRows<Op, L, true, T, Tail>>(NormaliseRows<Op, L, true, T>::blocks(t), t);
  }
  template <class Tail, op::Local L, class T, class Q> static void backward_input_with(Q q, op::Operands<T> const& t) {
    q.template launch<NormaliseRows<Op, L, false, T, Tail>>(NormaliseRows<Op, L, false, T>::blocks(t), t);
  }
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    sum_columns<NormaliseRowsSum<Op, L, T>>(q, t);
  }
};
template <> struct Kernel<op::LayerNorm> : NormaliseRowsKernel<op::LayerNorm> {};
template <int Groups> struct Kernel<op::NormaliseGroups<Groups>> : NormaliseRowsKernel<op::NormaliseGroups<Groups>> {};
template <> struct Kernel<op::NormaliseMicroBatch> : ByDefinition<op::NormaliseMicroBatch> {
  template <op::Local L, bool, class, class T, class Q> static void forward(Q q, op::Operands<T> const& t) {
    q.template launch<NormaliseSlice<L, true, T>>(NormaliseSlice<L, true, T>::blocks(t), t);
  }
  template <op::Local L, class T, class Q> static void backward_input(Q q, op::Operands<T> const& t) {
    q.template launch<NormaliseSlice<L, false, T>>(NormaliseSlice<L, false, T>::blocks(t), t);
  }
};
/// Of an operation whose forward pass and input gradient are `Each`, element by element.
template <class Op, template <op::Local, bool, class, class> class Each>
struct EachElementKernel : TakesTails<Kernel<Op>> {
  template <class Tail, op::Local L, bool, class, class T, class Q>
  static void forward_with(Q q, op::Operands<T> const& t) {
    q.template launch<Each<L, true, T, Tail>>(blocks_each(L.rows * L.x.size() * t.slices), t);
  }
  template <class Tail, op::Local L, class T, class Q> static void backward_input_with(Q q, op::Operands<T> const& t) {
    q.template launch<Each<L, false, T, Tail>>(blocks_each(L.rows * L.x.size() * t.slices), t);
  }
};
template <> struct Kernel<op::ScaleAndShift> : EachElementKernel<op::ScaleAndShift, ScaleEach> {
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    sum_columns<ScaleSum<L, T>>(q, t);
  }
};
template <> struct Kernel<op::BatchSums> : ByDefinition<op::BatchSums> {
  static constexpr bool sums_slices = true;
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    sum_columns<BatchSum<L, T>>(q, t);
  }
  template <op::Local L, bool, class, class T, class Q> static void forward(Q q, op::Operands<T> const& t) {
    sum<L, T>(q, one_slice(t, t.stats));
  }
};
template <> struct Kernel<op::Normalise> : EachElementKernel<op::Normalise, NormaliseEach> {
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    sum_columns<NormaliseSum<L, T>>(q, t);
  }
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    sum<L, T>(q, one_slice(t, t.dstats));
  }
};

}  // namespace cleave::backend::gpu
