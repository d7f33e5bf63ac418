// op/experts.hpp - a mixture of experts: which experts a position goes to, dispatch to them, and combine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "../tensor/elementary.hpp"
#include "convolve.hpp"
#include "reshaped.hpp"

namespace cleave::op {

/// x (b, T, F), W (F, Experts): y (b, T, Experts), the gates: of each position the weights of its `Chosen` experts of
/// highest probability, by the softmax of x W; 0 for all others. The weight is the probability where one is chosen
/// (Switch), else its share among the chosen. Positions take their places at an expert in order, so that none depends
/// on a later one; where all `Room` places are taken, the gate is 0: the expert drops the position. Logits and
/// probabilities are not rounded to the number format.
///
/// Balance / 100 times the load-balancing loss of a sample, Experts * sum over e of (share of the chosen that e is) *
/// (mean probability of e), is part of what gradients are of, and not of the reported loss. Sources: Shazeer et
/// al., "Outrageously large neural networks", 2017; Fedus et al., "Switch transformers", 2021; of the shares Jiang et
/// al., "Mixtral of experts", 2024.
template <int Experts, int Chosen, int Percent, int Balance> struct ChooseExperts : Base {
  static constexpr auto name = "choose_experts";
  static constexpr auto equation = "bTF,FE->bTE";
  static constexpr int weights = 1;
  static constexpr bool reads_x = true, reads_y = true, weights_after_input = true, of_sequences = true;
  static constexpr bool loops_in_order = true, has_loss_of_its_own = Balance > 0, chooses_experts = true;
  static constexpr Shape output(Shape x) { return Shape(x[0], Experts); }
  static constexpr Weight weight(int, Shape x) { return {Shape(x[1], Experts), Start::He, 5000, Experts}; }
  /// Probabilities, later gradients of the logits; then the share of each expert among the chosen.
  static constexpr long aux(Shape x, Shape) { return (long{x[0]} + 1) * Experts; }
  static constexpr long work(Shape x) { return x.size() * Experts; }
  /// Places for positions at each expert.
  CLEAVE_HD static constexpr int room(int positions) {
    long const even = (long{positions} * Chosen * Percent + 100L * Experts - 1) / (100L * Experts);
    return static_cast<int>(even < positions ? even : positions);
  }

  /// Calls f for each expert that is chosen; the first of equal ones.
  template <class A, class F> CLEAVE_HD static void each_chosen(A const* p, F f) {
    bool taken[Experts] = {};
    for (int j = 0; j < Chosen; ++j) {
      int best = -1;
      for (int e = 0; e < Experts; ++e) {
        if (!taken[e] && (best < 0 || p[e] > p[best])) best = e;
      }
      taken[best] = true;
      f(best);
    }
  }
  /// Of the probabilities of a position: their sum over the chosen, or 1.
  template <class A> CLEAVE_HD static A divisor(A const* p) {
    if (Chosen == 1) return A{1};
    A sum = 0;
    each_chosen(p, [&](int e) { sum += p[e]; });
    return sum;
  }
  template <Local L> static constexpr long positions = L.x[0];
  template <Local L> static constexpr long kept = aux(L.x, L.y);

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long features = L.x[1];
    ctx.each(L.rows * positions<L>, [&](long at) {
      A p[Experts] = {}, sum = 0;
      for (long i = 0; i < features; ++i) {
        A const x = static_cast<A>(t.x[at * features + i]);
        for (int e = 0; e < Experts; ++e) p[e] += x * static_cast<A>(t.w0[i * Experts + e]);
      }
      A top = p[0];
      for (int e = 1; e < Experts; ++e) top = p[e] > top ? p[e] : top;
      for (int e = 0; e < Experts; ++e) sum += p[e] = tensor::exp(p[e] - top);
      A* const to = t.aux + at / positions<L> * kept<L> + at % positions<L> * Experts;
      for (int e = 0; e < Experts; ++e) {
        to[e] = p[e] /= sum;
        t.y[at * Experts + e] = static_cast<T>(A{0});
      }
      A const of = divisor(p);
      each_chosen(p, [&](int e) { t.y[at * Experts + e] = static_cast<T>(p[e] / of); });
    });
    ctx.each(L.rows * Experts, [&](long n) {
      long const b = n / Experts, e = n % Experts;
      int taken = 0;
      for (long p = b * positions<L>; p < (b + 1) * positions<L>; ++p) {
        T& gate = t.y[p * Experts + e];
        if (static_cast<A>(gate) == A{0}) continue;
        if (taken++ >= room(L.x[0])) gate = static_cast<T>(A{0});
      }
      t.aux[b * kept<L> + positions<L> * Experts + e] = static_cast<A>(taken) / static_cast<A>(positions<L> * Chosen);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long features = L.x[1];
    ctx.each(L.rows * positions<L>, [&](long at) {
      A* const p = t.aux + at / positions<L> * kept<L> + at % positions<L> * Experts;
      A const* const share = t.aux + at / positions<L> * kept<L> + positions<L> * Experts;
      A const of = divisor(p);
      A along = 0, balance = 0, slope[Experts] = {};  // of the gates
      each_chosen(p, [&](int e) {
        bool const passed = static_cast<A>(t.y[at * Experts + e]) != A{0};
        slope[e] = passed ? static_cast<A>(t.dy[at * Experts + e]) : A{0};
        along += slope[e] * (p[e] / of);
      });
      constexpr A weight = static_cast<A>(Balance) / 100 * Experts / static_cast<A>(positions<L>);
      for (int e = 0; e < Experts; ++e) balance += share[e] * p[e];
      A d[Experts];
      for (int e = 0; e < Experts; ++e) {
        d[e] = weight * t.scale * p[e] * (share[e] - balance);
        if (Chosen == 1) d[e] += p[e] * (slope[e] - along);
      }
      if (Chosen > 1) each_chosen(p, [&](int e) { d[e] += p[e] / of * (slope[e] - along); });
      for (int e = 0; e < Experts; ++e) p[e] = d[e];
    });
    if (!t.dx) return;
    ctx.each(L.rows * positions<L> * features, [&](long n) {
      long const at = n / features;
      A const* const d = t.aux + at / positions<L> * kept<L> + at % positions<L> * Experts;
      A sum = 0;
      for (int e = 0; e < Experts; ++e) sum += d[e] * static_cast<A>(t.w0[n % features * Experts + e]);
      t.dx[n] = static_cast<T>(sum);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long features = L.x[1];
    ctx.each(features, [&](long i) {
      A sum[Experts] = {};
      for (long at = 0; at < L.rows * positions<L>; ++at) {
        A const* const d = t.aux + at / positions<L> * kept<L> + at % positions<L> * Experts;
        A const x = static_cast<A>(t.x[at * features + i]);
        for (int e = 0; e < Experts; ++e) sum[e] += x * d[e];
      }
      for (int e = 0; e < Experts; ++e) t.dw0[i * Experts + e] = sum[e];
    });
  }
};

/// What dispatch and combine have in common: the place that each expert has for each position, by the gates
/// (b, T, e), in `aux`, -1 for none; and blocks of features, for which loops run side by side.
struct WithPlaces : Base {
  static constexpr int inputs = 2;
  static constexpr bool keeps_zeros = true, loops_in_order = true;
  CLEAVE_HD static constexpr long block_of(long features) {
    return features % 16 == 0 ? 16 : features % 4 == 0 ? 4 : 1;
  }

  /// f(place, position) for each that expert e of these takes, in order.
  template <long Positions, long Experts, class T, class F>
  CLEAVE_HD static long each_place(T const* gates, long e, F f) {
    long taken = 0;
    for (long p = 0; p < Positions; ++p) {
      if (static_cast<tensor::accumulate_t<T>>(gates[p * Experts + e]) != 0) f(taken++, p);
    }
    return taken;
  }
  /// to (rows, Experts Features, Room): value(sample, position, gate, feature) at the place of each position that an
  /// expert takes, by the gates (rows, Positions, Experts); 0 at the others.
  template <long Positions, long Experts, long Features, long Room, class Ctx, class T, class Value>
  CLEAVE_HD static void fill_places(Ctx ctx, long rows, T const* gates, T* to, Value value) {
    using A = tensor::accumulate_t<T>;
    constexpr long block = block_of(Features), blocks = Features / block;
    ctx.each(rows * Experts * blocks, [&](long n) {
      long const from = n % blocks * block, e = n / blocks % Experts, b = n / blocks / Experts;
      T const* const of_sample = gates + b * Positions * Experts;
      T* const at = to + ((b * Experts + e) * Features + from) * Room;
      long const taken = each_place<Positions, Experts>(of_sample, e, [&](long place, long p) {
        A const gate = static_cast<A>(of_sample[p * Experts + e]);
        for (long i = 0; i < block; ++i) at[i * Room + place] = value(b, p, gate, from + i);
      });
      for (long i = 0; i < block; ++i) {
        for (long place = taken; place < Room; ++place) at[i * Room + place] = static_cast<T>(A{0});
      }
    });
  }
  template <long Positions, long Experts, class Ctx, class T>
  CLEAVE_HD static void find_places(Ctx ctx, long rows, T const* gates, tensor::accumulate_t<T>* aux) {
    using A = tensor::accumulate_t<T>;
    ctx.each(rows * Experts, [&](long n) {
      long const b = n / Experts, e = n % Experts, first = b * Positions * Experts;
      for (long p = 0; p < Positions; ++p) aux[first + p * Experts + e] = A{-1};
      each_place<Positions, Experts>(gates + first, e,
                                     [&](long place, long p) { aux[first + p * Experts + e] = static_cast<A>(place); });
    });
  }
};

/// x (b, T, F) and the gates (b, T, e): y (b, e F, 1, Room), the positions of each expert as an image of a row, in
/// order; places that are not taken are 0.
template <class Router> struct DispatchToExperts : WithPlaces {
  static constexpr auto name = "dispatch_to_experts";
  static constexpr auto equation = "bTF,bTc->bcHW";
  static constexpr bool of_experts = true;
  static constexpr Shape output(Shape x, Shape x2) { return Shape(x2[1] * x[1], 1, Router::room(x[0])); }
  static constexpr bool joins(Shape x, Shape x2) { return x.dims == 2 && x2.dims == 2 && x[0] == x2[0]; }
  static constexpr long aux(Shape x, Shape y) { return long{x[0]} * (y[0] / x[1]); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long positions = L.x[0], features = L.x[1], experts = L.x2[1];
    find_places<positions, experts>(ctx, L.rows, t.x2, t.aux);
    fill_places<positions, experts, features, L.y[2]>(
        ctx, L.rows, t.x2, t.y, [&](long b, long p, A, long i) { return t.x[(b * positions + p) * features + i]; });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long positions = L.x[0], features = L.x[1], experts = L.x2[1], room = L.y[2];
    if (t.dx) {
      ctx.each(L.rows * L.x.size(), [&](long n) {
        long const i = n % features, at = n / features, b = at / positions;
        A sum = 0;
        for (long e = 0; e < experts; ++e) {
          A const place = t.aux[at * experts + e];
          if (place >= 0)
            sum += static_cast<A>(t.dy[b * L.y.size() + (e * features + i) * room + static_cast<long>(place)]);
        }
        t.dx[n] = static_cast<T>(sum);
      });
    }
    if (t.dx2) ctx.each(L.rows * L.x2.size(), [&](long n) { t.dx2[n] = static_cast<T>(A{0}); });
  }
};

/// x (b, e F, 1, Room), what the experts make of their positions, and the gates (b, T, e): y (b, T, F), of each
/// position the sum over its experts of gate times x. A position that all of them drop has 0.
struct CombineExperts : WithPlaces {
  static constexpr auto name = "combine_experts";
  static constexpr auto equation = "bcHW,bTc->bTF";
  static constexpr bool reads_x = true;
  static constexpr Shape output(Shape x, Shape x2) { return Shape(x2[0], x[0] / x2[1]); }
  static constexpr bool joins(Shape x, Shape x2) { return x.dims == 3 && x2.dims == 2 && x[0] % x2[1] == 0; }
  static constexpr long aux(Shape x, Shape y) { return long{y[0]} * (x[0] / y[1]); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long positions = L.y[0], features = L.y[1], experts = L.x2[1], room = L.x[2];
    find_places<positions, experts>(ctx, L.rows, t.x2, t.aux);
    ctx.each(L.rows * L.y.size(), [&](long n) {
      long const i = n % features, at = n / features, b = at / positions;
      A sum = 0;
      for (long e = 0; e < experts; ++e) {
        A const place = t.aux[at * experts + e];
        if (place >= 0)
          sum += static_cast<A>(t.x2[at * experts + e]) *
                 static_cast<A>(t.x[b * L.x.size() + (e * features + i) * room + static_cast<long>(place)]);
      }
      t.y[n] = static_cast<T>(sum);
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long positions = L.y[0], features = L.y[1], experts = L.x2[1], room = L.x[2];
    if (t.dx) {
      fill_places<positions, experts, features, room>(ctx, L.rows, t.x2, t.dx, [&](long b, long p, A gate, long i) {
        return static_cast<T>(gate * static_cast<A>(t.dy[(b * positions + p) * features + i]));
      });
    }
    if (t.dx2) {
      ctx.each(L.rows * L.x2.size(), [&](long n) {
        A const place = t.aux[n];
        long const e = n % experts, at = n / experts, b = at / positions;
        A sum = 0;
        for (long i = 0; i < features && place >= 0; ++i) {
          sum += static_cast<A>(t.dy[at * features + i]) *
                 static_cast<A>(t.x[b * L.x.size() + (e * features + i) * room + static_cast<long>(place)]);
        }
        t.dx2[n] = static_cast<T>(sum);
      });
    }
  }
};

/// x (b, Experts F, 1, Room): of each expert a product with weights of its own, as a convolution in groups. A split is
/// one of experts.
template <int Out, int Experts, Start How>
struct ProductOfExperts
    : Reshaped<ProductOfExperts<Out, Experts, How>, Convolve<Experts * Out, 1, 1, 0, Experts, How>> {
  static constexpr auto name = "experts";
  static constexpr bool of_experts = true, unequal_groups = false;
  CLEAVE_HD static constexpr Local as(Local l) { return l; }
};

}  // namespace cleave::op
