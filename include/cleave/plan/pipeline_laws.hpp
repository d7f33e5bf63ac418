// plan/pipeline_laws.hpp - what a pipeline needs, and what it does not go with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../schedule/pipeline.hpp"

namespace cleave::plan {

template <class Order, bool Known> struct the_order_is_known {
  static constexpr bool holds = Known;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SplitLayers<stages, order>: the order is GPipe, OneForwardOneBackward, Interleaved<chunks>, or a "
                  "type with their members");
  };
};
template <int Ways> struct stages_are_not_ways {
  static constexpr bool holds = Ways == 0;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SplitLayers<stages> takes no Ways; to split layers within each stage too, say a second "
                  "ModelParallel, as in ModelParallel<SplitCols, Ways<2>>");
  };
};
template <int Stages, int Chunks, int Layers> struct every_part_of_a_pipeline_has_a_layer {
  static constexpr bool holds = Stages > 0 && Chunks > 0 && Chunks <= schedule::most_chunks &&
                                (Stages == 1 || long{Stages} * Chunks <= Layers);
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SplitLayers<stages>: from one stage on, of 1 to 8 chunks, and at most as many parts as the model "
                  "has layers");
  };
};
template <bool Good, int Said, int Parts> struct first_layers_are_one_of_each_part {
  static constexpr bool holds = Good;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "FirstLayers<...>: one number less than there are parts, each larger than the one before, from 1 to "
                  "the last layer");
  };
};
template <bool Split, bool Served> struct stages_are_of_collectives {
  static constexpr bool holds = !Split || !Served;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SplitLayers: a server's replicas have all layers; say DataParallel<Sync> without Spares and Shards, "
                  "or leave SplitLayers out");
  };
};
template <bool Split, bool Otherwise> struct stages_sum_plain_gradients {
  static constexpr bool holds = !Split || !Otherwise;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SplitLayers: leave Compress, ReduceBy, InputGradient and Inference out; they know no stages yet");
  };
};
template <int Rounds, int Stages, bool Groups> struct interleaved_rounds_are_whole_groups {
  static constexpr bool holds = !Groups || Rounds % Stages == 0;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Interleaved: the micro-batches pass the stages in groups of as many as there are stages; say "
                  "Accumulate<k> with a multiple of the stages");
  };
};
template <int Stage, int Stages, bool Kept> struct pinned_layers_are_on_their_stage {
  static constexpr bool holds = Kept;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "Pin<stage, layers...>: this layer cannot be on that stage; there are as many as SplitLayers<stages> "
        "says, each has layers behind those of the one before, and FirstLayers and Interleaved do not look at "
        "pins");
  };
};
/// `Stage` waits for `For` at its task `Task`, or has a fault of its own there.
template <schedule::PipelineFault Fault, int Stage, int Task, int For> struct the_pipeline_ends {
  static constexpr bool holds = Fault == schedule::PipelineFault::None;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SplitLayers: this order of tasks does not end, or is not complete; the arguments are the fault, the "
                  "stage, its task, and the stage that it waits for");
  };
};

}  // namespace cleave::plan
