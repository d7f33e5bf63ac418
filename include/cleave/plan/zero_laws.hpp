// plan/zero_laws.hpp - what of a plan ZeRO does not go with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::plan {

template <bool Zero, bool Served> struct zero_is_of_collectives {
  static constexpr bool holds = !Zero || !Served;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Zero<n>: ranks that sum gradients share the optimizer; a server has it whole. Say "
                  "DataParallel<Sync, Zero<1>>, without Spares and Shards");
  };
};
template <bool Zero, bool Otherwise> struct zero_sends_sums {
  static constexpr bool holds = !Zero || !Otherwise;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Zero<n>: each rank sums its part of a gradient and updates it; leave Compress and ReduceBy out");
  };
};
template <bool Zero, bool Parts> struct zero_sums_whole_gradients {
  static constexpr bool holds = !Zero || !Parts;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Zero<n>: gradients are summed as a whole; leave SendFactors and SendCheapest out, and give "
                  "Embedding the option SendDense");
  };
};
template <int Zero, int Stages> struct gradients_in_turn_are_there_once {
  static constexpr bool holds = Zero < 2 || Stages == 1;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Zero<2>: a gradient's memory is used again before the step ends, and a pipeline keeps all gradients "
                  "up to its last micro-batch; leave SplitLayers out, or say Zero<1>");
  };
};
template <bool SumsRounds, bool Portions> struct replicas_share_each_round {
  static constexpr bool holds = !SumsRounds || !Portions;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "Zero<2>, Accumulate: gradients are summed in each round, whose micro-batches are shared evenly by the "
        "replicas; leave PerReplica or Accumulate out, or say Zero<1>");
  };
};
template <int Zero, bool Freezes> struct weights_in_turn_learn {
  static constexpr bool holds = Zero < 3 || !Freezes;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Zero<3>: each rank has the weights of which it updates a part; frozen ones are nobody's. Leave "
                  "Freeze out, or say Zero<2>");
  };
};

}  // namespace cleave::plan
