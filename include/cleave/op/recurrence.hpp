// op/recurrence.hpp - a recurrent cell over the positions of a sequence: h_t from the gates x_t + h_(t-1) W + b, "bTG,HG->bTH".
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/host_device.hpp"
#include "../tensor/elementary.hpp"
#include "bias.hpp"
#include "per_position.hpp"
#include "product.hpp"

namespace cleave::op {

// A cell computes one unit at one position. `x` and `h`: the parts of its gates that come from the input and from the
// outputs of the position before; `h_before` and `state_before`: its output and state there. `kept`: its gates, and
// then what it keeps of the position, which backward overwrites with the gradients of `h` and with what it hands on to
// the position before. The equations and the order of gates are PyTorch's.

/// h = tanh(x + h). Source: Elman, "Finding structure in time", 1990.
struct RnnCell {
  static constexpr auto name = "rnn";
  static constexpr int gates = 1, kept = 1;
  template <class A> CLEAVE_HD static A forward(A const* x, A const* h, A, A, A* keep) {
    return keep[0] = tensor::tanh(x[0] + h[0]);
  }
  template <class A> CLEAVE_HD static void backward(A dh, A, A, A, A* keep, A* dx) {
    dx[0] = keep[0] = dh * (A{1} - keep[0] * keep[0]);
  }
};

/// Gates i, f, g, o: c = f c + i g, h = o tanh(c). Source: Hochreiter, Schmidhuber, "Long short-term memory", 1997; the
/// forget gate: Gers et al., 2000.
struct LstmCell {
  static constexpr auto name = "lstm";
  static constexpr int gates = 4, kept = 5;
  template <class A> CLEAVE_HD static A forward(A const* x, A const* h, A, A state_before, A* keep) {
    keep[0] = tensor::logistic(x[0] + h[0]);
    keep[1] = tensor::logistic(x[1] + h[1]);
    keep[2] = tensor::tanh(x[2] + h[2]);
    keep[3] = tensor::logistic(x[3] + h[3]);
    keep[4] = keep[1] * state_before + keep[0] * keep[2];
    return keep[3] * tensor::tanh(keep[4]);
  }
  template <class A> CLEAVE_HD static void backward(A dh, A handed_on, A, A state_before, A* keep, A* dx) {
    A const i = keep[0], f = keep[1], g = keep[2], o = keep[3], bent = tensor::tanh(keep[4]);
    A const dc = dh * o * (A{1} - bent * bent) + handed_on;
    dx[0] = keep[0] = dc * g * i * (A{1} - i);
    dx[1] = keep[1] = dc * state_before * f * (A{1} - f);
    dx[2] = keep[2] = dc * i * (A{1} - g * g);
    dx[3] = keep[3] = dh * bent * o * (A{1} - o);
    keep[4] = dc * f;
  }
};

/// Gates r, z, n: n = tanh(x_n + r h_n), h = (1 - z) n + z h. Source: Cho et al., "Learning phrase representations
/// using RNN encoder-decoder", 2014.
struct GruCell {
  static constexpr auto name = "gru";
  static constexpr int gates = 3, kept = 4;
  template <class A> CLEAVE_HD static A forward(A const* x, A const* h, A h_before, A, A* keep) {
    keep[0] = tensor::logistic(x[0] + h[0]);
    keep[1] = tensor::logistic(x[1] + h[1]);
    keep[2] = tensor::tanh(x[2] + keep[0] * h[2]);
    keep[3] = h[2];
    return (A{1} - keep[1]) * keep[2] + keep[1] * h_before;
  }
  template <class A> CLEAVE_HD static void backward(A dh, A handed_on, A h_before, A, A* keep, A* dx) {
    A const r = keep[0], z = keep[1], n = keep[2], of_h = keep[3], d = dh + handed_on;
    dx[2] = d * (A{1} - z) * (A{1} - n * n);
    dx[1] = keep[1] = d * (h_before - n) * z * (A{1} - z);
    dx[0] = keep[0] = dx[2] * of_h * r * (A{1} - r);
    keep[2] = dx[2] * r;
    keep[3] = d * z;
  }
};

/// The parts of the gates that come from the input.
template <int Columns> struct GateProduct : OnEachPosition<Product<Columns, Start::Glorot>> {
  static constexpr std::string_view weight_names[] = {"weight_ih_l0"};
};
struct GateBias : OnEachPosition<Bias> {
  static constexpr std::string_view weight_names[] = {"bias_ih_l0"};
};

/// x (b, T, gates H): the parts of the gates that come from the input; W (H, gates H), bias (gates H); y (b, T, H).
/// Output and state before the first position are 0. Columns are ordered by gate, then by unit. With `Run`, gradients
/// do not go back from one run of so many positions to the one before; 0: they go back to the first.
template <class Cell, int H, int Run = 0> struct Recurrence : Base {
  static constexpr auto name = Cell::name;
  static constexpr auto equation = "bTG,HG->bTH";
  static constexpr std::string_view weight_names[] = {"weight_hh_l0", "bias_hh_l0"};
  static constexpr int weights = 2, gates = Cell::gates, kept = Cell::kept;
  static constexpr bool reads_x = true, reads_y = true, weights_after_input = true, of_sequences = true;
  static constexpr long columns = long{gates} * H;
  static constexpr Shape output(Shape x) { return Shape(x[0], H); }
  static constexpr Weight weight(int which, Shape) {  // PyTorch's W is uniform in +-1 / sqrt(H)
    return which == 0 ? Weight{Shape(H, gates * H), Start::Glorot, 3 * H, 3 * H}
                      : Weight{Shape(gates * H), Start::Zeros, 1, 1};
  }
  /// What is kept of each position, and room for the gradient of one.
  static constexpr long aux(Shape x, Shape) { return (long{x[0]} * kept + 1) * H; }
  static constexpr long work(Shape x) { return long{x[0]} * H * columns; }
  template <Local L> static constexpr long aux_of_sample = aux(L.x, L.y);
  /// From position p, which is not the first, to the one before.
  CLEAVE_HD static constexpr bool goes_back(long p) {
    if constexpr (Run > 0) return p % Run != 0;
    return true;
  }
  /// Where in aux that of position p of sample b begins.
  template <Local L> CLEAVE_HD static constexpr long place(long b, long p) {
    return b * aux_of_sample<L> + p * kept * H;
  }

  /// A unit of one position: its gates and what is kept of it, as Cell wants them, and back.
  template <class A> struct Unit { A x[gates], h[gates], keep[kept]; };
  template <class A> CLEAVE_HD static void load(A (&to)[kept], A const* aux, long k) {
    for (int j = 0; j < kept; ++j) to[j] = aux[long{j} * H + k];
  }
  template <class A> CLEAVE_HD static void store(A const (&from)[kept], A* aux, long k) {
    for (int j = 0; j < kept; ++j) aux[long{j} * H + k] = from[j];
  }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long positions = L.x[0];
    ctx.each(L.rows, [&](long b) {
      for (long p = 0; p < positions; ++p) {
        long const at = b * positions + p;
        for (long k = 0; k < H; ++k) {
          Unit<A> u;
          for (int g = 0; g < gates; ++g) {
            long const o = long{g} * H + k;
            u.x[g] = static_cast<A>(t.x[at * columns + o]);
            A sum = static_cast<A>(t.w1[o]);
            for (long i = 0; p > 0 && i < H; ++i)
              sum += static_cast<A>(t.y[(at - 1) * H + i]) * static_cast<A>(t.w0[i * columns + o]);
            u.h[g] = sum;
          }
          A const h_before = p > 0 ? static_cast<A>(t.y[(at - 1) * H + k]) : A{0};
          A const state_before = p > 0 ? t.aux[place<L>(b, p) - H + k] : A{0};
          A const h = Cell::forward(u.x, u.h, h_before, state_before, u.keep);
          store(u.keep, t.aux + place<L>(b, p), k);
          t.y[at * H + k] = static_cast<T>(h);
        }
      }
    });
  }
  /// Leaves the gradients of the gates' parts `h` in aux, where backward_weight finds them.
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long positions = L.x[0];
    ctx.each(L.rows, [&](long b) {
      for (long p = positions - 1; p >= 0; --p) {
        long const at = b * positions + p;
        A const* const after = t.aux + place<L>(b, p + 1);
        for (long k = 0; k < H; ++k) {
          A dh = static_cast<A>(t.dy[at * H + k]), handed_on = 0;
          if (p + 1 < positions && goes_back(p + 1)) {
            for (long o = 0; o < columns; ++o) dh += after[o] * static_cast<A>(t.w0[k * columns + o]);
            if (kept > gates) handed_on = after[columns + k];
          }
          A const h_before = p > 0 ? static_cast<A>(t.y[(at - 1) * H + k]) : A{0};
          A const state_before = p > 0 ? t.aux[place<L>(b, p) - H + k] : A{0};
          A dx[gates], keep[kept];
          load(keep, t.aux + place<L>(b, p), k);
          Cell::backward(dh, handed_on, h_before, state_before, keep, dx);
          store(keep, t.aux + place<L>(b, p), k);
          for (int g = 0; g < gates; ++g) t.dx[at * columns + long{g} * H + k] = static_cast<T>(dx[g]);
        }
      }
    });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_weight(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long positions = L.x[0];
    ctx.each(H * columns, [&](long e) {
      long const i = e / columns, o = e % columns;
      A sum = 0;
      for (long at = 0; at < L.rows * positions; ++at) {
        if (at % positions > 0)
          sum += static_cast<A>(t.y[(at - 1) * H + i]) * t.aux[place<L>(at / positions, at % positions) + o];
      }
      t.dw0[e] = sum;
    });
    ctx.each(columns, [&](long o) {
      A sum = 0;
      for (long at = 0; at < L.rows * positions; ++at) sum += t.aux[place<L>(at / positions, at % positions) + o];
      t.dw1[o] = sum;
    });
  }
};

/// y (b, F): the last position of x (b, T, F).
struct TakeLast : Base {
  static constexpr auto name = "last_position";
  static constexpr auto equation = "bTF->bF";
  static constexpr bool of_sequences = true, linear = true;
  static constexpr Shape output(Shape x) { return x.below(); }

  template <Local L, class Ctx, class T> CLEAVE_HD static void forward(Ctx ctx, Operands<T> const& t) {
    constexpr long n = L.y.size(), all = L.x.size();
    ctx.each(L.rows * n, [&](long e) { t.y[e] = t.x[e / n * all + all - n + e % n]; });
  }
  template <Local L, class Ctx, class T> CLEAVE_HD static void backward_input(Ctx ctx, Operands<T> const& t) {
    using A = tensor::accumulate_t<T>;
    constexpr long n = L.y.size(), all = L.x.size();
    ctx.each(L.rows * all, [&](long e) {
      long const i = e % all - (all - n);
      t.dx[e] = i < 0 ? static_cast<T>(A{0}) : t.dy[e / all * n + i];
    });
  }
};

}  // namespace cleave::op
