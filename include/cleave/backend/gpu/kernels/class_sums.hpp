// backend/gpu/kernels/class_sums.hpp - sums over parts of the classes, and the cross-entropy of all parts with its gradient.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

#include "../../../op/class_sums.hpp"
#include "rows.hpp"

namespace cleave::backend::gpu {

/// One team for each part of each row, whose logits lie together.
template <op::Local L, class T> struct SumsOfParts {
  using Args = op::Operands<T>;
  using A = tensor::accumulate_t<T>;
  using Known = op::ClassPart<T>;
  static constexpr long here = L.y.size() / Known::numbers, n = L.x.size() / here;
  using Of = team_for<n>;
  static constexpr int threads = Of::size * Of::in_block, shared_bytes = 64 * static_cast<int>(sizeof(A));
  static constexpr bool alone = false;
  CLEAVE_HD static long rows(Args const& t) { return L.rows * here * t.slices; }
  static int blocks(Args const& t) { return blocks_for(rows(t), Of::in_block); }

  template <class Ctx> CLEAVE_HD static void run(Ctx const& c, Args const& t) {
    int const me = Of::member(c);
    long const e = Of::row(c);
    bool const there = e < rows(t);
    T const* const x = t.x + (there ? e : 0) * n;
    A top = static_cast<A>(x[0]), sum = 0, last = -static_cast<A>(n);
    for (long i = me; i < n; i += Of::size) top = Max::join(top, static_cast<A>(x[i]));
    top = Of::template over<Max>(c, top);
    for (long i = me; i < n; i += Of::size) {
      sum += std::exp(static_cast<A>(x[i]) - top);
      if (static_cast<A>(x[i]) == top) last = Max::join(last, -static_cast<A>(i));
    }
    sum = Of::template over<Sum>(c, sum);
    last = Of::template over<Max>(c, last);  // of the first of the largest
    if (!there || me != 0) return;
    Known out;
    out.top = top;
    out.sum = sum;
    out.best = last > -static_cast<A>(n) ? static_cast<long>(-last) : 0;
    long const label = op::ClassSums::label(t, e / here) - e % here * n;
    if (label >= 0 && label < n) out.of_label = static_cast<A>(x[label]);
    out.write(t.y + e * Known::numbers);
  }
};
template <> struct Kernel<op::ClassSums> : ByDefinition<op::ClassSums> {
  template <op::Local L, bool, class, class T, class Q> static void forward(Q q, op::Operands<T> const& t) {
    using K = SumsOfParts<L, T>;
    q.template launch<K>(K::blocks(t), t);
  }
};

struct ClassSumsRow {
  template <class Of, op::Local L, bool WithGradient, class Ctx, class T>
  CLEAVE_HD static tensor::accumulate_t<T> loss(Ctx const& c, op::Operands<T> const& t, long b, long rows) {
    using A = tensor::accumulate_t<T>;
    using Known = op::ClassPart<T>;
    constexpr long n = L.x.size(), wide = L.x2.size();
    constexpr int parts = static_cast<int>(wide) / Known::numbers;
    constexpr long each = L.classes / parts;
    int const me = Of::member(c);
    bool const there = b < rows;
    T const* const sums = t.x2 + (there ? b : 0) * wide;
    A top = Known::read(sums).top, sum = 0;
    for (int p = me; p < parts; p += Of::size) top = Max::join(top, Known::read(sums + p * Known::numbers).top);
    top = Of::template over<Max>(c, top);
    for (int p = me; p < parts; p += Of::size) {
      Known const of = Known::read(sums + p * Known::numbers);
      sum += of.sum * std::exp(of.top - top);
    }
    sum = Of::template over<Sum>(c, sum);
    if (!there) return 0;
    long const label = t.labels[b] == op::ignored ? 0 : t.labels[b];  // its result is not used then
    if constexpr (WithGradient) {
      A const aux[] = {top, sum};
      long const row = t.where.position_of(b);
      for (long i = me; row >= 0 && i < n; i += Of::size) {
        t.dx[row * n + i] =
            op::CrossEntropyOfSums::gradient(t.x[row * n + i], i + t.where.feature == label, aux, t.scale);
      }
    }
    return std::log(sum) + top - Known::read(sums + label / each * Known::numbers).of_label;
  }
};
template <> struct RowOf<op::CrossEntropyOfSums> { using is = ClassSumsRow; };

}  // namespace cleave::backend::gpu
