// op/attention.hpp - attention of the positions of a sequence to each other, in heads: "bTKhD->bThE", and its products.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <type_traits>

#include "../meta/host_device.hpp"
#include "../tensor/elementary.hpp"
#include "bias.hpp"
#include "padding.hpp"
#include "per_position.hpp"
#include "product.hpp"

namespace cleave::op {

/// x (b, T, F), W (F, r + 2, Groups, D), y (b, T, r + 2, Groups, D) with r = Heads / Groups and D = F / Heads: the
/// queries of the r heads of each group, head g r + j being query j of group g, then the key and the value that they
/// share. A split of columns is one of groups.
template <int Heads, Start How, int Groups = Heads>
struct IntoHeads : Reshaped<IntoHeads<Heads, How, Groups>, Product<1, How>> {
  static constexpr auto name = "into_heads";
  static constexpr auto equation = "bti,iKoD->btKoD";
  static constexpr std::string_view weight_names[] = {"in_proj_weight"};
  static constexpr bool of_sequences = true;
  static constexpr int heads = Heads;
  static constexpr Shape output(Shape x) { return Shape(x[0], Heads / Groups + 2, Groups, x[1] / Heads); }
  static constexpr Weight weight(int, Shape x) {
    Shape const y = output(x).below();
    return {y.times(x[1]), How, x[1], static_cast<int>(y.size())};
  }
  CLEAVE_HD static constexpr Local as(Local l) {
    int const out = static_cast<int>(l.y.below().size());
    return {l.rows * l.x[0], l.batch * l.x[0], l.x.below(),  {},        Shape(out), Shape(l.x[1], out), {}, 1,
            l.classes,       l.in_blocks,      l.out_blocks, l.out_runs};
  }
};
/// Of IntoHeads.
struct BiasOfHeads : Reshaped<BiasOfHeads, Bias> {
  static constexpr auto equation = "btKoD,KoD->btKoD";
  static constexpr std::string_view weight_names[] = {"in_proj_bias"};
  static constexpr Weight weight(int, Shape x) { return {x.below(), Start::Zeros, 1, 1}; }
  CLEAVE_HD static constexpr Local as(Local l) {
    Shape each = l.x.below().flat();  // if const, g++ has another template argument than nvcc's front end
    return {l.rows * l.x[0], l.batch * l.x[0], each, {}, each, each, {}};
  }
};
/// x (b, T, groups, r D), W (groups, r D, F) with F = groups r D: y (b, T, F). A split of rows is one of groups.
template <Start How> struct OutOfHeads : Reshaped<OutOfHeads<How>, Product<1, How>> {
  static constexpr auto name = "out_of_heads";
  static constexpr auto equation = "btiD,iDo->bto";
  static constexpr std::string_view weight_names[] = {"out_proj.weight"};
  static constexpr Shape output(Shape x) { return Shape(x[0], static_cast<int>(x.below().size())); }
  static constexpr Weight weight(int, Shape x) {
    int const n = static_cast<int>(x.below().size());
    return {Shape(x[1], x[2], n), How, n, n};
  }
  CLEAVE_HD static constexpr Local as(Local l) {
    Shape in = l.x.below().flat();  // not const, see BiasOfHeads
    return {l.rows * l.x[0], l.batch * l.x[0], in,           {},        l.y.below(), Shape(in[0], l.y[1]), {}, 1,
            l.classes,       l.in_blocks,      l.out_blocks, l.out_runs};
  }
};

struct BiasOutOfHeads : OnEachPosition<Bias> {
  static constexpr std::string_view weight_names[] = {"out_proj.bias"};
};

/// x (b, T, r + 2, groups, D): of each group the queries of its r heads, then the key and the value that they share.
/// y (b, T, groups, r D): for each position and head the mean of the values, weighted by the softmax over positions of
/// query . key / sqrt(D); with `Causal` over this position and those before it. No (T, T) matrix is stored: the
/// logarithm of each softmax's sum is kept, and its terms are computed again on the way back. If `Padded`, the second
/// input (b, T) is 0 at positions that nobody attends to; where a position may attend to none, y is 0. Sources: Vaswani
/// et al., "Attention is all you need", 2017; Dao et al., "FlashAttention", 2022; Ainslie et al., "GQA", 2023.
template <bool Causal, bool Padded = false> struct Attend : std::conditional_t<Padded, Masked, Base> {
  static constexpr auto name = Causal ? "causal_attention" : "attention";
  static constexpr auto equation = Padded ? "bTKhD,bT->bThE" : "bTKhD->bThE";
  static constexpr bool reads_x = true, reads_y = true, keeps_zeros = true, causal = Causal;
  static constexpr Shape output(Shape x) { return Shape(x[0], x[2], (x[1] - 2) * x[3]); }
  static constexpr long aux(Shape x, Shape) { return long{x[0]} * x[2] * (x[1] - 2); }
  static constexpr long work(Shape x) { return (Causal ? 1 : 2) * x[0] * output(x).below().size() * x[0]; }

  /// A head of a sample: rows of queries, keys, values and of the output, `step` and `stride` numbers apart. The heads
  /// of group g, n = g * queries and those after it, have the same keys and values.
  template <Local L> struct OneHead {
    static constexpr long positions = L.x[0], queries = L.x[1] - 2, groups = L.x[2], width = L.x[3],
                          heads = groups * queries, part = groups * width, step = L.x.below().size(),
                          stride = heads * width;
    long group, x, y, aux;  // of position 0
    CLEAVE_HD constexpr explicit OneHead(long n)
        : group(n / heads * positions * step + n % heads / queries * width),
          x(group + n % queries * part),
          y(n / heads * positions * stride + n % heads * width),
          aux(n / heads * positions * heads + n % heads) {}
    CLEAVE_HD constexpr long query(long p) const { return x + p * step; }
    CLEAVE_HD constexpr long key(long p) const { return group + p * step + queries * part; }
    CLEAVE_HD constexpr long value(long p) const { return key(p) + part; }
    CLEAVE_HD constexpr long output(long p) const { return y + p * stride; }
    CLEAVE_HD constexpr long sum(long p) const { return aux + p * heads; }
    /// The mask of the sample of head n.
    template <class T> CLEAVE_HD static constexpr T const* mask(Operands<T> const& t, long n) {
      return Padded ? t.x2 + n / heads * positions : nullptr;
    }
    template <class T> CLEAVE_HD static constexpr bool is_read(T const* mask, long key) {
      return !Padded || counts(mask[key]);
    }
    CLEAVE_HD static constexpr long end(long p) { return Causal ? p + 1 : positions; }  // of the keys it reads
    CLEAVE_HD static constexpr long begin(long p) { return Causal ? p : 0; }            // of the queries that read it
  };
  template <Local L, class A, class T, class U> CLEAVE_HD static A dot(T const* a, U const* b) {
    A sum = 0;
    for (int d = 0; d < L.x[3]; ++d) sum += static_cast<A>(a[d]) * static_cast<A>(b[d]);
    return sum;
  }
  template <Local L, class A> CLEAVE_HD static A scale() { return A{1} / std::sqrt(A{L.x[3]}); }

  /// y of one query: the mean of value(k) over the keys k < end that it reads, 0 if there is none. The logarithm of its
  /// softmax's sum.
  template <Local L, class T, class Key, class Value, class Reads, class A = tensor::accumulate_t<T>>
  CLEAVE_HD static A attend(T const* q, long end, Key key, Value value, Reads reads, T* to) {
    constexpr int width = L.x[3];
    long first = 0;
    while (first < end && !reads(first)) ++first;
    if (first == end) {
      for (int d = 0; d < width; ++d) to[d] = static_cast<T>(A{0});
      return A{0};
    }
    A top = dot<L, A>(q, key(first)), sum = 0;
    for (long k = first + 1; k < end; ++k) {
      if (!reads(k)) continue;
      A const s = dot<L, A>(q, key(k));
      top = s > top ? s : top;
    }
    A y[width] = {};
    for (long k = first; k < end; ++k) {
      if (!reads(k)) continue;
      A const w = tensor::exp((dot<L, A>(q, key(k)) - top) * scale<L, A>());
      auto const* const v = value(k);
      sum += w;
      for (int d = 0; d < width; ++d) y[d] += w * static_cast<A>(v[d]);
    }
    for (int d = 0; d < width; ++d) to[d] = static_cast<T>(y[d] / sum);
    return top * scale<L, A>() + std::log(sum);
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using Of = OneHead<L>;
    ctx.each(L.rows * Of::heads * Of::positions, [&](long e) {
      Of const h(e / Of::positions);
      long const p = e % Of::positions;
      T const* const mask = Of::mask(t, e / Of::positions);
      t.aux[h.sum(p)] = attend<L>(
          t.x + h.query(p), Of::end(p), [&](long k) { return t.x + h.key(k); },
          [&](long k) { return t.x + h.value(k); }, [&](long k) { return Of::is_read(mask, k); }, t.y + h.output(p));
    });
  }
  /// dS = P (dP - dy . y), with P the softmax and dP (query, key) = dy . value. Gradients of a key and a value are sums
  /// over the heads of their group, in order.
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    using Of = OneHead<L>;
    ctx.each(L.rows * Of::groups * Of::positions, [&](long e) {
      long const first = e / Of::positions * Of::queries, p = e % Of::positions;
      T const* const mask = Of::mask(t, first);
      A dk[Of::width] = {}, dv[Of::width] = {};
      for (long n = first; n < first + Of::queries; ++n) {
        Of const h(n);
        auto const weight = [&](long query, long key) {
          return tensor::exp(dot<L, A>(t.x + h.query(query), t.x + h.key(key)) * scale<L, A>() - t.aux[h.sum(query)]);
        };
        auto const slope = [&](long query, long key, A w) {
          T const* const dy = t.dy + h.output(query);
          return w * (dot<L, A>(dy, t.x + h.value(key)) - dot<L, A>(dy, t.y + h.output(query))) * scale<L, A>();
        };
        A dq[Of::width] = {};
        for (long k = 0; k < Of::end(p); ++k) {
          if (!Of::is_read(mask, k)) continue;
          A const s = slope(p, k, weight(p, k));
          for (int d = 0; d < Of::width; ++d) dq[d] += s * static_cast<A>(t.x[h.key(k) + d]);
        }
        for (int d = 0; d < Of::width; ++d) t.dx[h.query(p) + d] = static_cast<T>(dq[d]);
        for (long q = Of::begin(p); Of::is_read(mask, p) && q < Of::positions; ++q) {
          A const w = weight(q, p), s = slope(q, p, w);
          for (int d = 0; d < Of::width; ++d) {
            dk[d] += s * static_cast<A>(t.x[h.query(q) + d]);
            dv[d] += w * static_cast<A>(t.dy[h.output(q) + d]);
          }
        }
      }
      Of const h(first);
      for (int d = 0; d < Of::width; ++d) {
        t.dx[h.key(p) + d] = static_cast<T>(dk[d]);
        t.dx[h.value(p) + d] = static_cast<T>(dv[d]);
      }
    });
    if constexpr (Padded) Masked::clear_mask_gradient<L>(ctx, t);
  }
};

/// Queries and keys of x (b, T, r + 2, groups, D) turned by angles that grow with the position, so that their products
/// depend on the distance: features d and d + D / 2 together, by p / 10000^(2 d / D) at position p. Source: Su et al.,
/// "RoFormer", 2021; the pairs are those of Llama and GPT-NeoX.
struct RotatePositions : Base {
  static constexpr auto name = "rotary_positions";
  static constexpr auto equation = "bTKhD->bTKhD";
  static constexpr bool of_pairs = true, keeps_zeros = true;
  static constexpr Shape output(Shape x) { return x; }

  /// Features d and d + D / 2 at position p of all samples; `from` and `to` are that position of the first sample.
  template <Local L, class T>
  CLEAVE_HD static void rotate_pair(long p, long d, double direction, T const* from, T* to) {
    using A = tensor::accumulate_t<T>;
    constexpr long parts = L.x[1], groups = L.x[2], width = L.x[3], half = width / 2;
    double const angle = static_cast<double>(p) / std::pow(10000.0, 2.0 * static_cast<double>(d) / width);
    A const c = static_cast<A>(std::cos(angle)), s = static_cast<A>(direction * std::sin(angle));
    for (long b = 0; b < L.rows; ++b) {
      for (long h = 0; h < parts * groups; ++h) {
        long const i = b * L.x.size() + h * width + d;
        A const x = static_cast<A>(from[i]), y = static_cast<A>(from[i + half]);
        bool const turns = h < (parts - 1) * groups;
        to[i] = turns ? static_cast<T>(x * c - y * s) : from[i];
        to[i + half] = turns ? static_cast<T>(y * c + x * s) : from[i + half];
      }
    }
  }
  template <Local L, class Ctx, class T>
  CLEAVE_HD static void rotate(Ctx ctx, T const* from, T* to, [[maybe_unused]] double direction) {
    constexpr long half = L.x[3] / 2, one = L.x.stride(0);
    ctx.each(L.x[0] * half, [&](long e) {
      long const p = e / half;
      rotate_pair<L>(p, e % half, direction, from + p * one, to + p * one);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    rotate<L>(ctx, t.x, t.y, 1);
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    rotate<L>(ctx, t.dy, t.dx, -1);
  }
};

/// y = x + W, W (t, F): a learned vector for each position. Of deviation 0.02.
struct AddPositions : Reshaped<AddPositions, Bias> {
  static constexpr auto name = "positions";
  static constexpr auto equation = "btF,tF->btF";
  static constexpr bool of_sequences = true;
  static constexpr Weight weight(int, Shape x) { return {x, Start::He, 5000, 1}; }
  CLEAVE_HD static constexpr Local as(Local l) { return {l.rows, l.batch, l.x.flat(), {}, l.x.flat(), l.x.flat(), {}}; }
};

}  // namespace cleave::op
