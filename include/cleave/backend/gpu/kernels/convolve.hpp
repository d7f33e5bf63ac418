// backend/gpu/kernels/convolve.hpp - convolution on a device as implicit products: patches are gathered as tiles are read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../op/convolve.hpp"
#include "contract.hpp"
#include "kernel.hpp"

namespace cleave::backend::gpu {

/// Common to the three contractions of a convolution. x (b, i, h, w), w (o, i/groups, K, K), y (b, o, h', w').
template <op::Local L, int K, int Stride, int Pad, int Dilation, class T_> struct Patches {
  using T = T_;
  using A = tensor::accumulate_t<T>;
  static constexpr int all_slices = L.batch / L.rows, in = L.w0[1], groups = L.x[0] / in,
                       out = L.y[0] / groups;  // channels of one group
  static constexpr int H = L.x[1], W = L.x[2], positions = L.y[1] * L.y[2], taps = in * K * K;

  /// x under tap q = (i, row, column) of the window at position p = (b, h', w').
  CLEAVE_HD static T patch(op::Operands<T> const& t, int g, int q, int p) {
    int const b = p / positions, at = p % positions;
    int const h = at / L.y[2] * Stride - Pad + q / K % K * Dilation, w = at % L.y[2] * Stride - Pad + q % K * Dilation;
    if (h < 0 || h >= H || w < 0 || w >= W) return T{};
    return t.x[((long{b} * L.x[0] + g * in + q / (K * K)) * H + h) * W + w];
  }
  // Pieces of 8 neighbours, in 16-bit formats, where windows are side by side and rows are whole pieces. Images then
  // begin on boundaries of 16 bytes, as tensors do.
  static constexpr bool pieces = sizeof(T) == 2 && groups == 1 && Stride == 1 && L.y[2] % 8 == 0 && W % 8 == 0;
  /// Elements w .. w + 7 of a row of `width`, zeros outside: pairs, which are aligned, or halves of two of them.
  CLEAVE_HD static Piece of_row(T const* row, int w, int width) {
    std::uint32_t pair[5], two[4];
    int const first = w & ~1, shift = (w & 1) * 16;
    CLEAVE_UNROLL
    for (int i = 0; i < 5; ++i) {
      int const at = first + 2 * i;
      pair[i] = at >= 0 && at < width ? reinterpret_cast<Pair const*>(row + at)->v : 0;
    }
    CLEAVE_UNROLL
    for (int i = 0; i < 4; ++i)
      two[i] = static_cast<std::uint32_t>((std::uint64_t{pair[i + 1]} << 32 | pair[i]) >> shift);
    return {{two[0] | std::uint64_t{two[1]} << 32, two[2] | std::uint64_t{two[3]} << 32}};
  }
  /// x under tap q of the windows at positions p .. p + 7.
  CLEAVE_HD static Piece patches(op::Operands<T> const& t, int q, int p) {
    int const b = p / positions, at = p % positions;
    int const h = at / L.y[2] - Pad + q / K % K * Dilation, w = at % L.y[2] - Pad + q % K * Dilation;
    if (h < 0 || h >= H) return {};
    return of_row(t.x + ((long{b} * L.x[0] + q / (K * K)) * H + h) * W, w, W);
  }
  CLEAVE_HD static T dy(op::Operands<T> const& t, int g, int o, int p) {
    return t.dy[(long{p / positions} * L.y[0] + g * out + o) * positions + p % positions];
  }
  /// The description for a library, of `slices` slices.
  static constexpr Convolution task(Convolution::Pass pass, int slices, bool adds, End end, std::string_view behind) {
    return {pass, L.rows * slices, L.x[0], H,    W,   L.y[0],       K,     Stride,
            Pad,  Dilation,        groups, adds, end, number_of<T>, behind};
  }
};

template <op::Local L, int K, int Stride, int Pad, int Dilation, bool WithBias, class Map, class T_,
          class Tail = NoTail>
struct ConvolveForward : Patches<L, K, Stride, Pad, Dilation, T_> {
  using P = Patches<L, K, Stride, Pad, Dilation, T_>;
  using typename P::A, typename P::T;
  using Args = Tailed<T, Tail>;
  static constexpr Extent grows = Extent::N;
  static constexpr int m = P::out, n = L.rows * P::positions, k = P::taps;
  static constexpr tensor::Role a_role = tensor::Role::Value, b_role = tensor::Role::Value;
  static constexpr long a_count = L.w0.size(), b_count = L.rows * L.x.size();
  CLEAVE_HD static T const* a_from(Args const& t) { return t.w0; }
  CLEAVE_HD static T const* b_from(Args const& t) { return t.x; }
  static constexpr bool a_along_k = true, b_along_n = true;
  static constexpr int a_width = width_for<T>(k), b_width = 1;
  CLEAVE_HD static T const* a_at(Args const& t, int g, int o, int q) { return t.w0 + (long{g} * m + o) * k + q; }
  CLEAVE_HD static T a(Args const& t, int g, int o, int q) { return *a_at(t, g, o, q); }
  CLEAVE_HD static T b(Args const& t, int g, int q, int p) { return P::patch(t, g, q, p); }
  CLEAVE_HD static Piece b_piece(Args const& t, int q, int p) { return P::patches(t, q, p); }
  CLEAVE_HD static T ended(Args const& t, int channel, int, A v) {
    if constexpr (WithBias) v += static_cast<A>(t.bias[channel]);
    if constexpr (!std::is_void_v<Map>) v = Map::forward(v);
    return static_cast<T>(v);
  }
  CLEAVE_HD static T* place(Args const& t, int channel, int p) {
    return t.y + (long{p / P::positions} * L.y[0] + channel) * P::positions + p % P::positions;
  }
  CLEAVE_HD static void store(Args const& t, int g, int o, int p, A v) {
    T* const at = place(t, g * m + o, p);
    *at = ended(t, g * m + o, p, v);
    t.tail(at - t.y);
  }
  CLEAVE_HD static void finish(Args const& t, long e) {
    A v = static_cast<A>(t.y[e]);
    if constexpr (WithBias) v += static_cast<A>(t.bias[e / P::positions % L.y[0]]);
    if constexpr (!std::is_void_v<Map>) v = Map::forward(v);
    t.y[e] = static_cast<T>(v);
    t.tail(e);
  }
  using Behind = Tail;
  static constexpr End end = end_of<WithBias, Map>();
  static constexpr int biases = WithBias ? L.y[0] : 0;
  static constexpr Convolution task(int slices, bool adds) {
    return P::task(Convolution::Pass::Forward, slices, adds, end, Names<Behind>::text);
  }
  static Places places(Args const& t) { return {t.w0, t.x, WithBias ? t.bias : nullptr, t.y}; }
};

/// dx under every position is the sum over the windows that cover it.
template <op::Local L, int K, int Stride, int Pad, int Dilation, class T_, class Tail = NoTail>
struct ConvolveInput : Patches<L, K, Stride, Pad, Dilation, T_> {
  using P = Patches<L, K, Stride, Pad, Dilation, T_>;
  using typename P::A, typename P::T;
  using Args = Tailed<T, Tail>;
  static constexpr Extent grows = Extent::N;
  static constexpr int m = P::in, n = L.rows * P::H * P::W, k = P::out * K * K;  // q = (o, row, column)
  static constexpr tensor::Role a_role = tensor::Role::Value, b_role = tensor::Role::Gradient;
  static constexpr long a_count = L.w0.size(), b_count = L.rows * L.y.size();
  CLEAVE_HD static T const* a_from(Args const& t) { return t.w0; }
  CLEAVE_HD static T const* b_from(Args const& t) { return t.dy; }
  static constexpr bool a_along_k = true, b_along_n = true;
  static constexpr int a_width = 1, b_width = 1;
  CLEAVE_HD static T a(Args const& t, int g, int i, int q) {
    return t.w0[((long{g} * P::out + q / (K * K)) * m + i) * (K * K) + q % (K * K)];
  }
  CLEAVE_HD static T b(Args const& t, int g, int q, int p) {
    int const at = p % (P::H * P::W), h = at / P::W + Pad - q / K % K * Dilation,
              w = at % P::W + Pad - q % K * Dilation;
    if (h < 0 || w < 0 || h % Stride != 0 || w % Stride != 0 || h / Stride >= L.y[1] || w / Stride >= L.y[2])
      return T{};
    return t.dy[(long{p / (P::H * P::W)} * L.y[0] + g * P::out + q / (K * K)) * P::positions + h / Stride * L.y[2] +
                w / Stride];
  }
  /// Taps of a filter are neighbours; the next output channel's are behind those of all inputs.
  CLEAVE_HD static Piece a_piece(Args const& t, int i, int q) {
    constexpr int taps = K * K;
    T const* from = t.w0 + (long{q / taps} * m + i) * taps;
    int tap = q % taps;
    Piece piece{};
    CLEAVE_UNROLL
    for (int e = 0; e < 8; ++e) {
      if (q + e < k) piece.v[e / 4] |= bits_of(from[tap]) << e % 4 * 16;
      if (++tap == taps) tap = 0, from += m * taps;
    }
    return piece;
  }
  CLEAVE_HD static Piece b_piece(Args const& t, int q, int p) {
    int const at = p % (P::H * P::W), h = at / P::W + Pad - q / K % K * Dilation,
              w = at % P::W + Pad - q % K * Dilation;
    if (h < 0 || h >= L.y[1]) return {};
    long const image = long{p / (P::H * P::W)} * L.y[0] + q / (K * K);
    return P::of_row(t.dy + image * P::positions + h * L.y[2], w, L.y[2]);
  }
  CLEAVE_HD static T ended(Args const&, int, int, A v) { return static_cast<T>(v); }
  CLEAVE_HD static T* place(Args const& t, int channel, int p) {
    return t.dx + (long{p / (P::H * P::W)} * L.x[0] + channel) * (P::H * P::W) + p % (P::H * P::W);
  }
  CLEAVE_HD static void store(Args const& t, int g, int i, int p, A v) {
    T* const at = place(t, g * m + i, p);
    *at = ended(t, g * m + i, p, v);
    t.tail(at - t.dx);
  }
  using Behind = Tail;
  static constexpr End end = End::None;
  static constexpr int biases = 0;
  static constexpr Convolution task(int slices, bool adds) {
    return P::task(Convolution::Pass::Input, slices, adds, end, Names<Behind>::text);
  }
  static Places places(Args const& t) { return {t.w0, t.dy, nullptr, t.dx}; }
};

template <op::Local L, int K, int Stride, int Pad, int Dilation, class T_>
struct ConvolveWeight : Patches<L, K, Stride, Pad, Dilation, T_> {
  using P = Patches<L, K, Stride, Pad, Dilation, T_>;
  using typename P::A, typename P::T;
  using Args = Summing<T>;
  static constexpr Extent grows = Extent::K;
  static constexpr int m = P::out, n = P::taps, k = L.rows * P::positions;
  static constexpr tensor::Role a_role = tensor::Role::Gradient, b_role = tensor::Role::Value;
  static constexpr long a_count = L.rows * L.y.size(), b_count = L.rows * L.x.size();
  CLEAVE_HD static T const* a_from(Args const& t) { return t.dy; }
  CLEAVE_HD static T const* b_from(Args const& t) { return t.x; }
  static constexpr bool a_along_k = true, b_along_n = false;
  static constexpr int a_width = 1, b_width = 1;
  CLEAVE_HD static T a(Args const& t, int g, int o, int p) { return P::dy(t, g, o, p); }
  CLEAVE_HD static T b(Args const& t, int g, int p, int q) { return P::patch(t, g, q, p); }
  CLEAVE_HD static Piece a_piece(Args const& t, int o, int p) {
    return *reinterpret_cast<Piece const*>(t.dy + (long{p / P::positions} * L.y[0] + o) * P::positions +
                                           p % P::positions);
  }
  CLEAVE_HD static Piece b_piece(Args const& t, int p, int q) { return P::patches(t, q, p); }
  CLEAVE_HD static Branches<A> const& to(Args const& t) { return t.to; }
  CLEAVE_HD static long at(int g, int o, int q) { return (long{g} * m + o) * n + q; }
  using Behind = NoTail;
  static constexpr End end = End::None;
  static constexpr int biases = 0;
  static constexpr Convolution task(int slices, bool adds) {
    return P::task(Convolution::Pass::Weight, slices, adds, end, "");
  }
  static Places places(Args const& t) { return {t.dy, t.x, nullptr, t.to.dw0.at(0)}; }
};

template <int Out, int K, int Stride, int Pad, int Groups, op::Start How, int Dilation>
struct Kernel<op::Convolve<Out, K, Stride, Pad, Groups, How, Dilation>>
    : TakesTails<Kernel<op::Convolve<Out, K, Stride, Pad, Groups, How, Dilation>>> {
  template <class Tail, op::Local L, bool WithBias, class Map, class T, class Q>
  static void forward_with(Q q, op::Operands<T> const& t) {
    contract<ConvolveForward<L, K, Stride, Pad, Dilation, WithBias, Map, T, Tail>>(q, t);
  }
  template <class Tail, op::Local L, class T, class Q> static void backward_input_with(Q q, op::Operands<T> const& t) {
    contract<ConvolveInput<L, K, Stride, Pad, Dilation, T, Tail>>(q, t);
  }
  template <op::Local L, class T, class Q> static void sum(Q q, Summing<T> const& t) {
    contract<ConvolveWeight<L, K, Stride, Pad, Dilation, T>>(q, t);
  }
};

}  // namespace cleave::backend::gpu
