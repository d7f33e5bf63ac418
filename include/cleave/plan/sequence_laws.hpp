// plan/sequence_laws.hpp - laws of a plan whose ranks have parts of the positions between products.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/law.hpp"

namespace cleave::plan {

template <bool Says, bool OneAxis, bool OfWeights> struct positions_are_cut_between_split_products {
  static constexpr bool holds = !Says || (OneAxis && OfWeights);
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SequenceParallel: positions are cut along the one axis of ModelParallel<SplitColsRows, Ways<n>>, "
                  "SplitCols or SplitRows, n > 1; not beside splits of samples or experts, SplitFor, or several axes");
  };
};
template <bool Splits, bool LastAxis, bool OfSamples> struct positions_are_cut_along_the_last_axis {
  static constexpr bool holds = !Splits || (LastAxis && !OfSamples);
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "SplitPositions: positions are cut along the one axis of ModelParallel<SplitPositions, Ways<n>>, or the "
        "last of several, SplitAlong<SplitColsRows, SplitPositions>, on a layer too; not beside splits of samples or "
        "experts, SplitFor or SequenceParallel");
  };
};
template <bool Says, bool InBlocks, bool Written, bool Sent> struct positions_are_cut_by_the_algebra {
  static constexpr bool holds = !Says || !(InBlocks || Written || Sent);
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "SequenceParallel, SplitPositions: ranks sum gradients of weights over their own positions first, in an order "
        "and messages of their own; leave Blocks, Conversions<Written>, Compress and ReduceBy out");
  };
};

}  // namespace cleave::plan
