// backend/host/kernels/experts.hpp - the products of all experts: of each, all its places in all slices at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/experts.hpp"
#include "factor.hpp"
#include "gemm.hpp"
#include "gemm_sum.hpp"
#include "kernel.hpp"
#include "reshaped.hpp"

namespace cleave::backend::host {

/// An expert's part of a tensor (sample, experts * features, places): feature f, place n of all samples is at
/// p[n / Room * Sample + f * Room + n % Room]. A line of this operand is a place, and k goes over features.
template <class T, long Room, long Sample, class F> struct PlacesByFeatures {
  T const* p;
  [[no_unique_address]] F f = {};

  template <class S, class E, int Width> void pack(E* to, long first, int count, long k, long depth) const {
    for (int i = 0; i < count;) {
      long const n = first + i, at = n % Room;
      int const some = static_cast<int>(smaller(Room - at, count - i));
      T const* from = p + n / Room * Sample + k * Room + at;
      if (some == Width) return S::template pack_columns<E, Width>(to, from, Room, some, depth, f);
      for (long d = 0; d < depth; ++d, from += Room) {
        for (int j = 0; j < some; ++j) to[d * Width + i + j] = f(from[j]);
      }
      i += some;
    }
    for (long d = 0; d < depth && count < Width; ++d) {
      for (int j = count; j < Width; ++j) to[d * Width + j] = E{0};
    }
  }
};
/// The same; a line is a feature, and k goes over places.
template <class T, long Room, long Sample, class F> struct FeaturesByPlaces {
  T const* p;
  [[no_unique_address]] F f = {};

  template <class S, class E, int Width> void pack(E* to, long first, int count, long k, long depth) const {
    while (depth > 0) {
      long const at = k % Room, some = smaller(Room - at, depth);
      S::pack_rows(to, Width, p + k / Room * Sample + first * Room + at, Room, count, some, f);
      to += some * Width, k += some, depth -= some;
    }
  }
};
/// Stores a tile of (places, features) as such a tensor, with a bias for each feature and a map.
template <class E, class T, long Room, long Sample, bool WithBias, class Map> struct FinishPlaces {
  static constexpr bool in_place = false, ends = true;
  T* y;
  T const* bias;

  template <class S> void done(E const* sum, long row, long i, long j, int rows, int columns) const {
    constexpr int most = 64;
    for (int c = 0; c < columns; c += most) {
      int const some = static_cast<int>(smaller(most, columns - c));
      for (int r = 0; r < rows; ++r) {
        T line[most];
        S::template finish<E, T, 1, WithBias, Map>(line, most, sum + r * row + c, row, bias + (WithBias ? j + c : 0), 1,
                                                   some);
        T* const to = y + (i + r) / Room * Sample + (j + c) * Room + (i + r) % Room;
        for (int o = 0; o < some; ++o) to[o * Room] = line[o];
      }
    }
  }
};

/// x (b, experts in, places), W (experts, out, in), y (b, experts out, places).
template <int Out, int Experts, op::Start How> struct Kernel<op::ProductOfExperts<Out, Experts, How>> {
  static constexpr bool takes_slices = true;
  template <op::Local L> static constexpr long in = L.w0[1];
  template <op::Local L> static constexpr long experts = L.x[0] / in<L>;
  template <op::Local L> static constexpr long room = L.x[2];
  template <op::Local L> static constexpr long places = L.rows* room<L>;
  template <op::Local L> static constexpr long x_size = L.x.size();
  template <op::Local L> static constexpr long y_size = L.y.size();
  /// Are several slices one product? Not where an element's bits could depend on that.
  template <op::Local L, class T> static constexpr bool folds = L.batch > L.rows&& places<L> > 1 && !tensor::scaled<T>;
  template <op::Local L, class T> static constexpr long most_folded = folds<L, T> ? L.batch / L.rows : 1;
  template <op::Local L, class T>
  static constexpr bool sums_slices = folds<L, T>&& sums_in_tiles<tensor::accumulate_t<T>, places<L>>;

  template <op::Local L, bool WithBias, class Map, class T> static void forward(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    if constexpr (!folds<L, T> && !L.is_one_slice()) {
      if (t.slices > 1) return each_slice<L>(t, [&](op::Operands<T> const& one) { forward<L, WithBias, Map>(c, one); });
    }
    auto const fx = factor_x<L>(t);
    auto const fw = factor_w<L>(t);
    for (long e = 0; e < experts<L>; ++e) {
      gemm<E, places<L>, Out, in<L>, false, most_folded<L, T>>(
          c.workspace, by_features<room<L>, x_size<L>>(t.x + e * in<L> * room<L>, fx),
          rows<in<L>>(t.w0 + e * Out * in<L>, fw),
          FinishPlaces<E, T, room<L>, y_size<L>, WithBias, Map>{t.y + e * Out * room<L>,
                                                                WithBias ? t.bias + e * Out : nullptr},
          t.slices);
    }
  }
  template <op::Local L, class T> static void backward_input(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    if constexpr (!folds<L, T> && !L.is_one_slice()) {
      if (t.slices > 1) return each_slice<L>(t, [&](op::Operands<T> const& one) { backward_input<L>(c, one); });
    }
    auto const fdy = factor_dy<L>(t);
    auto const fw = factor_w<L>(t);
    for (long e = 0; e < experts<L>; ++e) {
      gemm<E, places<L>, in<L>, Out, false, most_folded<L, T>>(
          c.workspace, by_features<room<L>, y_size<L>>(t.dy + e * Out * room<L>, fdy),
          columns<in<L>>(t.w0 + e * Out * in<L>, fw),
          FinishPlaces<E, T, room<L>, x_size<L>, false, void>{t.dx + e * in<L> * room<L>, nullptr}, t.slices);
    }
  }
  template <op::Local L, class T> static void backward_weight(Context c, op::Operands<T> const& t) {
    using E = tensor::accumulate_t<T>;
    for (long e = 0; e < experts<L>; ++e) {
      gemm<E, Out, in<L>, places<L>>(c.workspace, dy_of<L>(t, e, factor_dy<L>(t)), x_of<L>(t, e, factor_x<L>(t)),
                                     Store<E>{t.dw0 + e * Out * in<L>, in<L>});
    }
  }
  template <op::Local L, class T>
  requires(sums_slices<L, T>) static void sum(Context c, op::Operands<T> const& t,
                                              Branches<tensor::accumulate_t<T>> const& to) {
    using E = tensor::accumulate_t<T>;
    for (long e = 0; e < experts<L>; ++e) {
      Branches<E> own = to;
      own.dw0.first += e * Out * in<L>;
      if (own.dw0.other) own.dw0.other += e * Out * in<L>;
      gemm_sum<E, Out, in<L>, places<L>, T>(c.workspace, dy_of<L>(t, e, factor_dy<L>(t)), x_of<L>(t, e, factor_x<L>(t)),
                                            own, t.slices);
    }
  }

 private:
  template <long Room, long Sample, class T, class F>
  static PlacesByFeatures<T, Room, Sample, F> by_features(T const* p, F f) {
    return {p, f};
  }
  template <op::Local L, class T, class F>
  static FeaturesByPlaces<T, room<L>, x_size<L>, F> x_of(op::Operands<T> const& t, long e, F f) {
    return {t.x + e * in<L> * room<L>, f};
  }
  template <op::Local L, class T, class F>
  static FeaturesByPlaces<T, room<L>, y_size<L>, F> dy_of(op::Operands<T> const& t, long e, F f) {
    return {t.dy + e * Out * room<L>, f};
  }
};

}  // namespace cleave::backend::host
