// layer/recurrent.hpp - Rnn<units>, Lstm<units>, Gru<units> over sequences, and LastPosition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/recurrence.hpp"
#include "linear.hpp"
#include "per_position.hpp"

namespace cleave {

namespace layer {
template <class Cell, int Units>
using recurrent = Chain<op::GateProduct<Cell::gates * Units>, op::GateBias, op::Recurrence<Cell, Units>>;
template <int Units> struct recurrent_layer_has_units {
  static constexpr bool holds = Units >= 1;
  template <bool Holds> struct tell {
    static_assert(Holds, "Rnn<n>, Lstm<n>, Gru<n>: a layer has n units, at least 1");
  };
};
}  // namespace layer

/// x (b, T, F), a sequence; y (b, T, Units): h_t = tanh(x_t W + b + h_(t-1) V + c), from h = 0. Weights W (F, gates
/// Units) and V (Units, gates Units) and their biases are those of PyTorch's RNN, LSTM and GRU with `batch_first`, W
/// and V transposed, gates in PyTorch's order.
template <int Units> struct Rnn : layer::recurrent<op::RnnCell, Units> {
  using takes = meta::list<>;
  using law = layer::recurrent_layer_has_units<Units>;
};
/// Gates i, f, g, o; the state c is 0 before the first position.
template <int Units> struct Lstm : layer::recurrent<op::LstmCell, Units> {
  using takes = meta::list<>;
  using law = layer::recurrent_layer_has_units<Units>;
};
/// Gates r, z, n.
template <int Units> struct Gru : layer::recurrent<op::GruCell, Units> {
  using takes = meta::list<>;
  using law = layer::recurrent_layer_has_units<Units>;
};

/// y (b, F): what the last position of x (b, T, F) has: `Lstm<64>, LastPosition, Linear<2>` classifies whole sequences.
struct LastPosition : layer::Chain<op::TakeLast> {};

}  // namespace cleave
