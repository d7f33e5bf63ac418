// place/request.hpp - what a plan asks of its placement and schedule, as numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "portions.hpp"
#include "sharding.hpp"

namespace cleave::place {

struct Request {
  DeviceMesh mesh{0, 1};
  int rows = 1;  // samples in a micro-batch
  int micro_batches = 1;
  bool written = false;  // conversions of partial sums are written by the user
  bool input_gradient = false;
  int rounds = 1;        // in which a rank takes its micro-batches
  bool together = true;  // all replicas take each step together
  long bucket = 0;       // elements: layers share a message of gradients up to this size
  Portions portions = {};
  bool waits_for_norm = false;   // weights are updated after the norm over all gradients is known
  bool infers = false;           // the forward pass up to the loss is all there is
  int frozen = 0;                // the first layers, whose weights do not change
  bool gathers_weights = false;  // a step finds the weights that it reads in parts on the ranks
  bool updates_in_turn = false;  // a bucket is updated before the gradients of the next but one are computed
  bool encodes = false;          // gradients are sent in a format in which one element depends on those beside it
  int blocks = 1;                // of a contraction, at most
  AxisSet cuts_positions = {};   // along these, ranks may have parts of the positions
  bool one_block = false;        // of what infers: weights are in one block with activations, and no two share them
  bool sums_rounds = false;      // the gradients of each round are summed over the replicas, which share the round
};

}  // namespace cleave::place
