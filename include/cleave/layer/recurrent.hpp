// layer/recurrent.hpp - Rnn<units>, Lstm<units>, Gru<units> over sequences, and LastPosition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../op/recurrence.hpp"
#include "linear.hpp"
#include "per_position.hpp"

namespace cleave {

/// Of Rnn, Lstm and Gru: gradients do not go back from one run of n positions to the one before (truncated
/// backpropagation through time), as where PyTorch's state is detached every n positions. Outputs and states go on.
/// Source: Williams, Peng, "An efficient gradient-based algorithm for on-line training of recurrent network
/// trajectories", 1990.
template <int> struct Truncate : layer::Option {};

namespace layer {
template <class Cell, int Units, class Options>
using recurrent = Chain<op::GateProduct<Cell::gates * Units>, op::GateBias,
                        op::Recurrence<Cell, Units, number_in<Truncate, Options>::or_(0)>>;
template <int Units> struct recurrent_layer_has_units {
  static constexpr bool holds = Units >= 1;
  template <bool Holds> struct tell {
    static_assert(Holds, "Rnn<n>, Lstm<n>, Gru<n>: a layer has n units, at least 1");
  };
};
template <int Positions> struct runs_have_positions {
  static constexpr bool holds = Positions >= 1;
  template <bool Holds> struct tell {
    static_assert(Holds, "Truncate<n>: gradients go back over runs of n positions, at least 1");
  };
};
template <int Units, class Options>
using recurrent_law = std::conditional_t<(Units < 1), recurrent_layer_has_units<Units>,
                                         runs_have_positions<number_in<Truncate, Options>::or_(1)>>;
}  // namespace layer

/// x (b, T, F), a sequence; y (b, T, Units): h_t = tanh(x_t W + b + h_(t-1) V + c), from h = 0. Weights W (F, gates
/// Units) and V (Units, gates Units) and their biases are those of PyTorch's RNN, LSTM and GRU with `batch_first`, W
/// and V transposed, gates in PyTorch's order. Option: `Rnn<64, Truncate<16>>`.
template <int Units, class... Options> struct Rnn : layer::recurrent<op::RnnCell, Units, meta::list<Options...>> {
  using policies = meta::list<Options...>;
  using takes = meta::list<Truncate<1>>;
  using law = layer::recurrent_law<Units, policies>;
};
/// Gates i, f, g, o; the state c is 0 before the first position.
template <int Units, class... Options> struct Lstm : layer::recurrent<op::LstmCell, Units, meta::list<Options...>> {
  using policies = meta::list<Options...>;
  using takes = meta::list<Truncate<1>>;
  using law = layer::recurrent_law<Units, policies>;
};
/// Gates r, z, n.
template <int Units, class... Options> struct Gru : layer::recurrent<op::GruCell, Units, meta::list<Options...>> {
  using policies = meta::list<Options...>;
  using takes = meta::list<Truncate<1>>;
  using law = layer::recurrent_law<Units, policies>;
};

/// y (b, F): what the last position of x (b, T, F) has: `Lstm<64>, LastPosition, Linear<2>` classifies whole sequences.
struct LastPosition : layer::Chain<op::TakeLast> {};

}  // namespace cleave
