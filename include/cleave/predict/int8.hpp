// predict/int8.hpp - Predictor<Net, int8>: weights of Linear and Conv as integers of 8 bits; not included by cleave.hpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <utility>

#include "../backend/host/kernels/quantised.hpp"
#include "../schedule/program.hpp"
#include "predictor.hpp"

namespace cleave::session {

template <class Op, op::Local L> struct PackingOf { static constexpr Packing value{}; };
template <class Op, op::Local L>
requires(backend::host::QuantisedKernel<Op>::packs) struct PackingOf<Op, L> {
  using Kernel = backend::host::QuantisedKernel<Op>;
  using Of = typename Kernel::template Packed<L>;
  static constexpr int groups = Kernel::template outputs<L> / Of::outputs;
  static constexpr long group = (Of::bytes + 63) / 64 * 64, elements = L.w0.size() / groups;
  static std::size_t element(int g, int s, int d, int o) {
    return static_cast<std::size_t>(g * elements + Kernel::template element<L>(s, d, o));
  }

  static int output_of(long e) { return static_cast<int>(Kernel::template output_of<L>(e)); }
  static void pack(std::byte* to, EightBitWeight const& from) {
    for (int g = 0; g < groups; ++g) {
      Of::pack(
          to + g * group, [&](int s, int d, int o) { return from.values[element(g, s, d, o)]; },
          [&](int o) { return from.scales[static_cast<std::size_t>(g) * Of::outputs + static_cast<std::size_t>(o)]; });
    }
  }
  static void unpack(EightBitWeight& to, std::byte const* from) {
    to.values.resize(static_cast<std::size_t>(L.w0.size()));
    for (int g = 0; g < groups; ++g, from += group) {
      to.scales.insert(to.scales.end(), Of::scales(from), Of::scales(from) + Of::outputs);
      for (int s = 0; s < Of::segments; ++s)
        for (int d = 0; d < Of::depth; ++d)
          for (int o = 0; o < Of::outputs; ++o) to.values[element(g, s, d, o)] = Of::values(from)[Of::place(s, d, o)];
    }
  }
  static constexpr Packing value{groups * group, L.w0.size(), groups* Of::outputs, &output_of, &pack, &unpack};
};

/// Of inference plan P, in f32: the same program, with other offsets of its weights.
template <class P> struct PackedProgram {
  static constexpr schedule::Program whole = schedule::program<P>;
  static constexpr int count = whole.weights;
  template <int K> static constexpr Packing of_node() {
    constexpr auto const& n = P::placed.node[K];
    if constexpr (n.op >= 0)
      return PackingOf<meta::at<typename P::ops, static_cast<std::size_t>(n.op)>, n.local>::value;
    return {};
  }
  template <int... K> static constexpr auto of_nodes(std::integer_sequence<int, K...>) {
    return std::array<Packing, sizeof...(K)>{of_node<K>()...};
  }
  static constexpr auto node = of_nodes(std::make_integer_sequence<int, P::placed.count>{});
  /// Of weight i of the program.
  static constexpr Packing const& packing(int i) { return node[static_cast<std::size_t>(whole.weight[i].node)]; }

  struct Weights {
    std::array<schedule::Weight, static_cast<std::size_t>(count) + 1> of{};
    long elements = 0;  // f32 numbers that would take the room
  };
  static constexpr Weights weights = [] {
    Weights out;
    for (int i = 0; i < count; ++i) {
      schedule::Weight& w = out.of[static_cast<std::size_t>(i)] = whole.weight[i];
      w.offset = out.elements;
      long const bytes = packing(i).bytes > 0 ? packing(i).bytes : w.count * long{sizeof(float)};
      out.elements += (bytes + 63) / 64 * 16;
    }
    return out;
  }();
  static constexpr schedule::Program program = [] {
    schedule::Program p = whole;
    p.weight = weights.of.data();
    p.weight_elements = weights.elements;
    return p;
  }();
  /// `of` is the layout of P.
  template <class Layout> static constexpr schedule::LayoutView layout(Layout const& of) {
    schedule::LayoutView out(of);
    out.copies = out.weights;
    out.states = out.weights + weights.elements * long{sizeof(float)};
    long& bytes = out.memory.bytes[static_cast<int>(schedule::Category::Weights)];
    out.memory.total -= bytes;
    bytes = (weights.elements + whole.state_elements) * long{sizeof(float)};
    out.memory.total += bytes;
    return out;
  }
};

template <> struct PredictionIn<int8> {
  static constexpr bool packs = true;
  using Number = f32;
  using On = backend::host::QuantisedHost;
  template <class P> using Packed = PackedProgram<P>;
};

}  // namespace cleave::session
