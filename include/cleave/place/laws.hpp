// place/laws.hpp - laws of a model and its splits. The numbers that violate a law are its arguments.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../meta/law.hpp"

namespace cleave::place {

enum class Law : unsigned char {
  None,
  Parts,
  Columns,
  Rows,
  Groups,
  Slices,
  Letter,
  Dimensions,
  Sequence,
  Heads,
  OnePosition,
  Pairs,
  Padding,
  Inputs,
  Names,
  Window,
  Joined,
  Factors,
  GroupsOfChannels,
  Classes,
  Loss,
  Written,
  Summed,
  Nonlinear,
  Rounds,
  Together,
  Unconvertible,
  AcrossReplicas,
  Nodes,
  TiedLayers,
  TiedExtents,
  TiedPlaces,
  Recomputed,
  Positions,
  NoPositions,
  HeadsOfPositions,
  OneValue
};

/// The first law that a model violates: which, the two numbers, and the layer (counted flat from 0).
struct Verdict {
  Law law = Law::None;
  int a = 0, b = 0, leaf = 0;
};

template <int Parts, int Ways> struct every_way_has_a_part {
  static constexpr bool holds = Parts >= Ways;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "ModelParallel: each way has at least one of the layer's output columns (SplitCols), input rows (SplitRows) or "
        "groups (SplitGroups); of Attention these are its heads, or the n of KeyValueHeads<n>, of an image its "
        "channels, and of a sequence that is flattened its positions");
  };
};
template <int Columns, int Ways> struct columns_divide_by_ways {
  static constexpr bool holds = Columns % Ways == 0;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SplitCols: the layer's output columns must divide evenly by the ways of the split, since its "
                  "operation is neither `linear` nor says `keeps_zeros`");
  };
};
template <int Rows, int Ways> struct rows_divide_by_ways {
  static constexpr bool holds = Rows % Ways == 0;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SplitRows: the layer's input rows must divide evenly by the ways of the split, since its operation "
                  "is neither `linear` nor says `keeps_zeros`");
  };
};
template <int Groups, int Ways> struct groups_divide_by_ways {
  static constexpr bool holds = Groups % Ways == 0;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "SplitGroups: the experts of Experts<n, ...>, and the groups of an operation that does not say "
                  "`unequal_groups`, must divide evenly by the ways of the split");
  };
};
template <int MicroBatches, int Ways> struct every_way_has_a_micro_batch {
  static constexpr bool holds = MicroBatches >= Ways;
  template <bool Holds> struct tell {
    static_assert(Holds, "SplitBatch: each way has at least one of the plan's micro-batches");
  };
};
template <char Letter> struct the_layer_has_the_letter_to_cut {
  static constexpr bool holds = Letter == 0;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "ModelParallel: this layer's equation has no such letter to cut, or needs it whole on every rank");
  };
};
template <int Given, int Wanted> struct the_input_has_the_dimensions {
  static constexpr bool holds = Given == Wanted;
  template <bool Holds> struct tell {
    static_assert(Holds, "shapes do not chain: the layer wants an Image (3 dimensions) and is given something else");
  };
};
template <int Given, int Wanted> struct the_input_is_a_sequence {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "shapes do not chain: the layer wants a sequence, (positions, features), as from Sequence<positions, "
                  "features> or Embedding, and is given one vector or an image");
  };
};
template <int, int> struct the_layer_sees_one_position {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "PerPosition: its layers see one position alone: no BatchNorm, GhostBatchNorm, Branches<Concat, ...> "
                  "or layer of "
                  "whole sequences; of the losses CrossEntropy, since others are means over all positions already");
  };
};
template <int Positions, int Marked> struct padding_is_said_before {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Padded, LastValidPosition, MeanOverValidPositions: an earlier layer says which of the positions are "
                  "padding, Embedding<n, f, PadToken<t>> or Masking");
  };
};
template <int Given, int Wanted> struct the_model_begins_with_the_inputs {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(Holds, "Inputs<...>::at<k>: the model begins with another input than the one that this is a part of");
  };
};
template <int Tensors, int Names> struct tensors_of_an_operation_have_names {
  static constexpr bool holds = Tensors == Names;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "an operation gives each of its weights and states a name of its own, weight_names and state_names, "
                  "under which checkpoints have them");
  };
};
template <int Features, int> struct features_of_a_head_are_pairs {
  static constexpr bool holds = Features % 2 == 0;
  template <bool Holds> struct tell {
    static_assert(Holds, "Rotary: it turns pairs of features, so a head has an even number of them");
  };
};
template <int Features, int Heads> struct heads_divide_features {
  static constexpr bool holds = Features % Heads == 0;
  template <bool Holds> struct tell {
    static_assert(Holds, "Attention<heads>: the features of a position must divide evenly by the heads");
  };
};
template <int Extent, int Window> struct the_window_fits {
  static constexpr bool holds = Window <= Extent;
  template <bool Holds> struct tell {
    static_assert(Holds, "shapes do not chain: the window is larger than the padded image");
  };
};
template <int Size, int OtherSize> struct joined_shapes_agree {
  static constexpr bool holds = Size == OtherSize;
  template <bool Holds> struct tell {
    static_assert(Holds, "shapes do not chain: the two inputs of a join must have the same shape");
  };
};
template <int Size, int Factors> struct factors_fit {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "shapes do not chain: Times wants its second input in the shape of the first, or one factor for each "
                  "of the first's channels");
  };
};
template <int Channels, int Groups> struct groups_divide_channels {
  static constexpr bool holds = Channels % Groups == 0;
  template <bool Holds> struct tell {
    static_assert(
        Holds, "shapes do not chain: a layer's groups must divide the channels that go in and, of Conv, the filters");
  };
};
template <int Outputs, int Weights> struct every_output_has_a_class_weight {
  static constexpr bool holds = Outputs == Weights;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "WeightedCrossEntropy<w...>: one weight for each class (of WeightedBinaryCrossEntropy<w...>: one, or one "
        "for each label), as many as the layer before the loss has outputs");
  };
};
template <int Losses, int LossesLast> struct a_model_ends_in_its_one_loss {
  static constexpr bool holds = Losses == 1 && LossesLast == 1;
  template <bool Holds> struct tell {
    static_assert(Holds, "a model ends in one loss (CrossEntropy, MeanSquaredError) and has no other");
  };
};
template <int, int> struct written_conversion_is_legal {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(Holds, "a sum reduced twice: AllReduce wants a Partial sum, and this value is already whole");
  };
};
template <int, int> struct the_sum_is_reduced {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(Holds, "a sum never reduced: the layer is given a Partial sum; write AllReduce before it");
  };
};
template <int, int> struct nonlinear_layers_want_whole_values {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(Holds, "a non-linear layer on a Partial sum: f(a + b) is not f(a) + f(b); write AllReduce before it");
  };
};
template <int Rounds, int MicroBatches> struct the_whole_batch_is_there_at_once {
  static constexpr bool holds = Rounds == 1;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Accumulate, SplitLayers: BatchNorm takes its statistics over the whole batch, which is never there "
                  "at once; leave them out, or normalize by GhostBatchNorm or LayerNorm");
  };
};

template <int Rows, int MicroBatches> struct a_variance_is_of_several_values {
  static constexpr bool holds = Rows > 1;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "GhostBatchNorm: a micro-batch of one sample of a vector has one value of each feature, and no "
                  "variance; say fewer MicroBatches");
  };
};
template <int Together, int MicroBatches> struct all_replicas_are_there_at_once {
  static constexpr bool holds = Together == 1;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "DataParallel: BatchNorm takes its statistics over all replicas, which this agreement does not wait "
                  "for in every step; say DataParallel<Sync>, or normalize by GhostBatchNorm or LayerNorm");
  };
};

template <int, int> struct placements_convert_axis_by_axis {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "a value is wanted in a placement that it cannot be converted to axis by axis: an outer axis of the mesh "
        "changes while an inner one goes on cutting the same dimension, or two axes cut a sample along different "
        "dimensions, neither of them its first");
  };
};

template <int, int> struct replicas_exchange_no_samples {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "a replica has the values of its own samples only: this layer wants those of all replicas, or the sum "
        "over them; only an operation with `sums_batch` gets that sum");
  };
};

template <int Nodes, int> struct skips_pass_few_parts {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "SplitLayers: skip connections pass over too many parts of the pipeline, each of which hands them on; "
        "say fewer stages or chunks, or FirstLayers<...> outside of the skips");
  };
};

template <int Tables, int Readers> struct tied_layers_are_two {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Tied: one Embedding<vocabulary, features, Tied> and one Linear<vocabulary, Tied> behind it share a "
                  "weight; given are these numbers of both, or the Linear comes first");
  };
};
template <int Reads, int Has> struct tied_layers_have_one_weight {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "Tied: Linear has as many outputs as the Embedding has tokens, and reads as many positions of as many "
        "features, PerPosition<Linear<vocabulary, Tied>>; given are the elements of their weights");
  };
};
template <int Reads, int Has> struct tied_layers_are_placed_alike {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Tied: both layers have the same part of their weight on a rank: neither is split, or the Embedding "
                  "by rows and the Linear by columns, and no stage of a pipeline (SplitLayers) has one of them alone");
  };
};

template <int States, int> struct what_is_recomputed_has_no_states {
  static constexpr bool holds = States == 0;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Recompute: BatchNorm inside, or a layer of your own with states, would count twice what it keeps "
                  "between steps; leave it outside, or normalize by GhostBatchNorm, LayerNorm or GroupNorm");
  };
};

template <int Positions, int Ways> struct positions_divide_by_ways {
  static constexpr bool holds = Positions % Ways == 0;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "SequenceParallel, SplitPositions: the positions of a sequence must divide evenly by the ways of the split");
  };
};
template <int Dimensions, int> struct some_positions_are_cut {
  static constexpr bool holds = false;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "SequenceParallel, SplitPositions: no layer of this model reads positions one by one (PerPosition, a "
        "residual connection or Dropout on a sequence), or rows of images that the ways divide before and behind "
        "a convolution, whose parts ranks could have; leave it out");
  };
};
template <int Heads, int Ways> struct heads_divide_by_ways_of_positions {
  static constexpr bool holds = Heads % Ways == 0;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "SplitPositions: attention is split by heads, so the heads, or the n of KeyValueHeads<n>, must divide "
        "evenly by the ways of all axes that cut them");
  };
};

/// A violation as a type, so that the compiler prints the sentence, the numbers and the layer.
template <Law L, int A, int B> struct law_of {
  static constexpr bool holds = true;
  template <bool> struct tell {};
};
template <int A, int B> struct law_of<Law::Parts, A, B> : every_way_has_a_part<A, B> {};
template <int A, int B> struct law_of<Law::Columns, A, B> : columns_divide_by_ways<A, B> {};
template <int A, int B> struct law_of<Law::Rows, A, B> : rows_divide_by_ways<A, B> {};
template <int A, int B> struct law_of<Law::Groups, A, B> : groups_divide_by_ways<A, B> {};
template <int A, int B> struct law_of<Law::Slices, A, B> : every_way_has_a_micro_batch<A, B> {};
template <int A, int B> struct law_of<Law::Letter, A, B> : the_layer_has_the_letter_to_cut<static_cast<char>(A)> {};
template <int A, int B> struct law_of<Law::Dimensions, A, B> : the_input_has_the_dimensions<A, B> {};
template <int A, int B> struct law_of<Law::Sequence, A, B> : the_input_is_a_sequence<A, B> {};
template <int A, int B> struct law_of<Law::OnePosition, A, B> : the_layer_sees_one_position<A, B> {};
template <int A, int B> struct law_of<Law::Pairs, A, B> : features_of_a_head_are_pairs<A, B> {};
template <int A, int B> struct law_of<Law::Padding, A, B> : padding_is_said_before<A, B> {};
template <int A, int B> struct law_of<Law::Inputs, A, B> : the_model_begins_with_the_inputs<A, B> {};
template <int A, int B> struct law_of<Law::Names, A, B> : tensors_of_an_operation_have_names<A, B> {};
template <int A, int B> struct law_of<Law::Heads, A, B> : heads_divide_features<A, B> {};
template <int A, int B> struct law_of<Law::Window, A, B> : the_window_fits<A, B> {};
template <int A, int B> struct law_of<Law::Joined, A, B> : joined_shapes_agree<A, B> {};
template <int A, int B> struct law_of<Law::Factors, A, B> : factors_fit<A, B> {};
template <int A, int B> struct law_of<Law::GroupsOfChannels, A, B> : groups_divide_channels<A, B> {};
template <int A, int B> struct law_of<Law::Classes, A, B> : every_output_has_a_class_weight<A, B> {};
template <int A, int B> struct law_of<Law::Loss, A, B> : a_model_ends_in_its_one_loss<A, B> {};
template <int A, int B> struct law_of<Law::Written, A, B> : written_conversion_is_legal<A, B> {};
template <int A, int B> struct law_of<Law::Summed, A, B> : the_sum_is_reduced<A, B> {};
template <int A, int B> struct law_of<Law::Nonlinear, A, B> : nonlinear_layers_want_whole_values<A, B> {};
template <int A, int B> struct law_of<Law::Rounds, A, B> : the_whole_batch_is_there_at_once<A, B> {};
template <int A, int B> struct law_of<Law::Together, A, B> : all_replicas_are_there_at_once<A, B> {};
template <int A, int B> struct law_of<Law::Unconvertible, A, B> : placements_convert_axis_by_axis<A, B> {};
template <int A, int B> struct law_of<Law::AcrossReplicas, A, B> : replicas_exchange_no_samples<A, B> {};
template <int A, int B> struct law_of<Law::Nodes, A, B> : skips_pass_few_parts<A, B> {};
template <int A, int B> struct law_of<Law::TiedLayers, A, B> : tied_layers_are_two<A, B> {};
template <int A, int B> struct law_of<Law::TiedExtents, A, B> : tied_layers_have_one_weight<A, B> {};
template <int A, int B> struct law_of<Law::OneValue, A, B> : a_variance_is_of_several_values<A, B> {};
template <int A, int B> struct law_of<Law::Recomputed, A, B> : what_is_recomputed_has_no_states<A, B> {};
template <int A, int B> struct law_of<Law::TiedPlaces, A, B> : tied_layers_are_placed_alike<A, B> {};
template <int A, int B> struct law_of<Law::Positions, A, B> : positions_divide_by_ways<A, B> {};
template <int A, int B> struct law_of<Law::NoPositions, A, B> : some_positions_are_cut<A, B> {};
template <int A, int B> struct law_of<Law::HeadsOfPositions, A, B> : heads_divide_by_ways_of_positions<A, B> {};

}  // namespace cleave::place
