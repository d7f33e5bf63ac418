// backend/gpu/kernels/columns.hpp - sums over the batch for each feature or channel: gradients of biases, scales and statistics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/bias.hpp"
#include "rows.hpp"

namespace cleave::backend::gpu {

template <class A> struct Two { A first, second; };

// A Case describes a sum: for each of `outputs`, over the `terms` of a slice, term(args, o, r) -> Two, with r counted
// over all slices; then done(args, turn, o, sums) merges the slice's sums and stores them. `below` elements of an
// output are contiguous before the next output begins (1: outputs are neighbours). If there are too few outputs to fill
// a device, their terms are split into parts: blocks store sums of parts, which one more kernel adds in their order.
// Otherwise a block processes one slice after the other.

template <class Case> struct Cut {
  using A = typename Case::A;
  static constexpr bool across = Case::below == 1;
  static constexpr int blocks = across ? blocks_for(Case::outputs, lanes) : Case::outputs;
  static constexpr long least = across ? 64 : 4096;  // terms that make a part worth its cost
  static constexpr int parts_wanted = blocks >= 264 ? 1 : 264 / blocks;
  static constexpr int parts_there = static_cast<int>(Case::terms / least < 1    ? 1
                                                      : Case::terms / least > 64 ? 64
                                                                                 : Case::terms / least);
  static constexpr int parts = parts_wanted < parts_there ? parts_wanted : parts_there;
  static constexpr long each = (Case::terms + parts - 1) / parts;
  static constexpr long bytes = long{parts} * Case::outputs * static_cast<long>(sizeof(Two<A>));  // for a slice's parts
};
template <class Case> struct SumArgs {
  typename Case::Args of;
  Two<typename Case::A>* parts;  // (slices, parts, outputs)
  int first, slices;
};

/// Calls sum(o, begin, end, keep) for this block's outputs and terms, for each slice; it must call `keep` once for each
/// output with its sum.
template <class Case, class Ctx, class Sum> CLEAVE_HD void each_sum(Ctx const& c, SumArgs<Case> const& a, Sum sum) {
  using Of = Cut<Case>;
  int const place = Of::parts == 1 ? c.block() : c.block() % Of::blocks;
  if constexpr (Of::parts == 1) {
    Turn<typename Case::T> turn(a.of.to);
    for (long begin = 0, end = a.slices * Case::terms; begin < end; begin += Case::terms) {
      sum(place, begin, begin + Case::terms, [&](int o, auto v) { Case::done(a.of, turn, o, v); });
    }
  } else {
    long const part = c.block() / Of::blocks, slice = a.first + part / Of::parts;
    long const begin = slice * Case::terms + part % Of::parts * Of::each, last = (slice + 1) * Case::terms;
    sum(place, begin, begin + Of::each < last ? begin + Of::each : last,
        [&](int o, auto v) { a.parts[part * Case::outputs + o] = v; });
  }
}

/// Outputs are neighbours: 32 of them across a warp; the warps share the terms.
template <class Case> struct SumAcross {
  using Args = SumArgs<Case>;
  using A = typename Case::A;
  static constexpr int warps = 8, threads = warps * lanes, shared_bytes = threads * static_cast<int>(sizeof(Two<A>));
  static constexpr bool alone = false;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    auto* const line = reinterpret_cast<Two<A>*>(c.shared());
    int const warp = c.thread() / lanes;
    each_sum<Case>(c, a, [&](int place, long begin, long end, auto keep) {
      int const o = place * lanes + c.thread() % lanes;
      Two<A> sum{A{0}, A{0}};
      for (long r = begin + warp; o < Case::outputs && r < end; r += warps) {
        Two<A> const v = Case::term(a.of, o, r);
        sum.first += v.first;
        sum.second += v.second;
      }
      if (Cut<Case>::parts == 1 && begin > 0) c.barrier();  // the slice before has been read
      line[c.thread()] = sum;
      c.barrier();
      if (warp == 0 && o < Case::outputs) {
        for (int w = 1; w < warps; ++w) {
          sum.first += line[w * lanes + c.thread()].first;
          sum.second += line[w * lanes + c.thread()].second;
        }
        keep(o, sum);
      }
    });
  }
};

/// Terms are neighbours: one block for each output, or for each part of it.
template <class Case> struct SumAlong {
  using Args = SumArgs<Case>;
  using A = typename Case::A;
  static constexpr int threads = 256, shared_bytes = 16 * static_cast<int>(sizeof(A));
  static constexpr bool alone = false;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    auto* const line = reinterpret_cast<A*>(c.shared());
    each_sum<Case>(c, a, [&](int o, long begin, long end, auto keep) {
      Two<A> sum{A{0}, A{0}};
      for (long r = begin + c.thread(); r < end; r += threads) {
        Two<A> const v = Case::term(a.of, o, r);
        sum.first += v.first;
        sum.second += v.second;
      }
      sum.first = over_block<Sum>(c, sum.first, line);
      sum.second = over_block<Sum>(c, sum.second, line + 8);
      if (c.thread() == 0) keep(o, sum);
    });
  }
};
template <class Case> using Summed = std::conditional_t<Cut<Case>::across, SumAcross<Case>, SumAlong<Case>>;

template <class Case> struct JoinSums {
  using Args = SumArgs<Case>;
  using A = typename Case::A;
  static constexpr int threads = 256, shared_bytes = 0;
  static constexpr bool alone = true;
  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& a) {
    c.each(Case::outputs, [&](long o) {
      Turn<typename Case::T> turn(a.of.to, a.first);
      for (int s = 0; s < a.slices; ++s) {
        Two<A> const* const parts = a.parts + long{s} * Cut<Case>::parts * Case::outputs + o;
        Two<A> sum = parts[0];
        for (int p = 1; p < Cut<Case>::parts; ++p) {
          sum.first += parts[long{p} * Case::outputs].first;
          sum.second += parts[long{p} * Case::outputs].second;
        }
        Case::done(a.of, turn, static_cast<int>(o), sum);
      }
    });
  }
};

/// All slices in one launch, or as many as have room for their parts.
template <class Case, class Q> void sum_columns(Q q, typename Case::Args const& t) {
  using Of = Cut<Case>;
  static_assert(Of::parts == 1 || Of::bytes <= Q::workspace_bytes);
  SumArgs<Case> args{t, reinterpret_cast<Two<typename Case::A>*>(q.workspace), 0, t.slices};
  if constexpr (Of::parts == 1) {
    q.template launch<Summed<Case>>(Of::blocks, args);
  } else {
    constexpr int most = static_cast<int>(Q::workspace_bytes / Of::bytes);
    for (; args.first < t.slices; args.first += most) {
      args.slices = t.slices - args.first < most ? t.slices - args.first : most;
      q.template launch<Summed<Case>>(Of::blocks * Of::parts * args.slices, args);
      q.template launch<JoinSums<Case>>(blocks_each(Case::outputs), args);
    }
  }
}

/// Element r of output o, of a tensor (rows, outputs, below).
template <class Case> CLEAVE_HD long element(int o, long r) {
  return (r / Case::below * Case::outputs + o) * Case::below + r % Case::below;
}

template <op::Local L, class T_> struct BiasSum {
  using T = T_;
  using Args = Summing<T>;
  using A = tensor::accumulate_t<T>;
  static constexpr int outputs = L.w0[0];
  static constexpr long below = L.y.stride(0), terms = L.rows * below;
  CLEAVE_HD static Two<A> term(Args const& t, int o, long r) {
    return {static_cast<A>(t.dy[element<BiasSum>(o, r)]), A{0}};
  }
  CLEAVE_HD static void done(Args const& t, Turn<T>& turn, int o, Two<A> s) {
    turn.put(weights(t.to.dw0, [&](auto f) { f(o, s.first); }));
  }
};

template <> struct Kernel<op::Bias> : ByDefinition<op::Bias> {
  static constexpr bool sums_slices = true;
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    sum_columns<BiasSum<L, T>>(q, t);
  }
  template <op::Local L, class T, class Q> static void backward_weight(Q q, op::Operands<T> const& t) {
    sum<L, T>(q, one_slice(t));
  }
};
}  // namespace cleave::backend::gpu
