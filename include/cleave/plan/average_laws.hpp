// plan/average_laws.hpp - what of a plan running means, which are weights that are not learned, do not go with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/list.hpp"

namespace cleave::plan {

/// Whether an operation has weights that are not learned.
template <class Op> inline constexpr bool averages = false;
template <class Op>
requires requires { Op::averages; }
inline constexpr bool averages<Op> = Op::averages > 0;
template <class... Ops>
inline constexpr bool averages<meta::list<Ops...>> = [] {
  bool const each[] = {averages<Ops>..., false};  // no fold: clang's end at 256 operands
  bool any = false;
  for (bool b : each) any |= b;
  return any;
}();

template <bool Averages, bool Said> struct statistics_are_of_micro_batches_that_are_said {
  static constexpr bool holds = !Averages || Said;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "GhostBatchNorm: its statistics are of a micro-batch, whose size matters for training; say "
                  "MicroBatches<m>");
  };
};
template <bool Averages, bool Compressed> struct running_means_are_not_compressed {
  static constexpr bool holds = !Averages || !Compressed;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "GhostBatchNorm: its statistics are sent with the gradients, and cannot be compressed; leave Compress out");
  };
};
template <bool Averages, bool OfSteps> struct running_means_are_of_one_step {
  static constexpr bool holds = !Averages || !OfSteps;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "GhostBatchNorm: a push of several steps is a sum of their statistics; let replicas push and fetch "
                  "in every step");
  };
};
/// Whether a rule of staleness weights gradients of some age.
template <class Stale> constexpr bool weights_by_age() {
  bool any = false;
  for (int age = 0; age <= 64; ++age) any |= !(Stale::share(age) >= 1 && Stale::share(age) <= 1);
  return any;
}
template <bool Averages, bool Weighted> struct running_means_are_not_weighted {
  static constexpr bool holds = !Averages || !Weighted;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "GhostBatchNorm: its statistics are pushed with the gradients, which this agreement weights; leave Damp, "
        "ScaleRate and PerReplica out");
  };
};
template <bool Averages, bool Half> struct variances_fit_their_format {
  static constexpr bool holds = !Averages || !Half;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "GhostBatchNorm: its running variance is a weight, and f16 ends at 65504; say Precision<bf16> or "
                  "Precision<f32>");
  };
};

}  // namespace cleave::plan
