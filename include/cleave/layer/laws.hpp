// layer/laws.hpp - laws of a single layer: its sizes and options.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace cleave::layer {

template <int Features> struct linear_has_features {
  static constexpr bool holds = Features >= 1;
  template <bool Holds> struct tell { static_assert(Holds, "Linear<n>: a layer has n output features, at least 1"); };
};
template <int Filters, int Window, int Stride, int Pad, int Groups, int Dilation> struct conv_sizes_are_positive {
  static constexpr bool holds = Filters >= 1 && Window >= 1 && Stride >= 1 && Pad >= 0 && Groups >= 1 && Dilation >= 1;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "Conv<filters, window, Stride<s>, Pad<p>, Groups<g>, Dilation<d>>: filters, window, stride, groups and "
        "dilation are whole numbers from 1, the padding is from 0");
  };
};
template <int Filters, int Window, int Stride, int Pad> struct conv_transpose_sizes_are_positive {
  static constexpr bool holds = Filters >= 1 && Window >= 1 && Stride >= 1 && Pad >= 0 && 2 * Pad < Window;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "ConvTranspose<filters, window, Stride<s>, Pad<p>>: filters, window and stride are whole numbers from "
        "1, the padding is from 0 and less than half the window");
  };
};
template <int Window, int Stride, int Pad> struct pool_sizes_are_positive {
  static constexpr bool holds = Window >= 1 && Stride >= 1 && Pad >= 0 && Pad < Window;
  template <bool Holds> struct tell {
    static_assert(
        Holds,
        "MaxPool<window, Stride<s>, Pad<p>>, AvgPool: window and stride are whole numbers from 1, the padding "
        "is from 0 and smaller than the window");
  };
};
template <int Vocabulary, int Features, int Padding> struct embedding_sizes_are_positive {
  static constexpr bool holds = Vocabulary >= 1 && Features >= 1 && Padding >= 0 && Padding < Vocabulary;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Embedding<tokens, features>: both are whole numbers from 1; PadToken<t> is one of the tokens");
  };
};
template <int Times> struct repeated_at_least_once {
  static constexpr bool holds = Times >= 1;
  template <bool Holds> struct tell {
    static_assert(Holds, "Repeat<n, layers...>: the layers are there n times, at least once");
  };
};
template <int Channels, int Groups> struct response_norm_has_channels {
  static constexpr bool holds = Channels >= 1 && Groups >= 1;
  template <bool Holds> struct tell {
    static_assert(
        Holds, "LocalResponseNorm<n>: the sum is over n neighbouring channels, at least 1, of Groups<g>, at least 1");
  };
};
template <int Percent> struct dropout_keeps_some {
  static constexpr bool holds = Percent >= 0 && Percent < 100;
  template <bool Holds> struct tell {
    static_assert(Holds, "Dropout<n>: n percent of the elements are zero in training, from 0 to 99");
  };
};
template <int... Extents> struct input_extents_are_positive {
  static constexpr bool holds = ((Extents >= 1) && ...);
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Vector<features>, Sequence<positions, features>, Image<channels, height, width>: extents are whole "
                  "numbers from 1");
  };
};

template <bool Is> struct the_first_word_is_a_model {
  static constexpr bool holds = Is;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Plan: the model comes first, and this is none: struct Net : Sequential<Vector<784>, ..., "
                  "CrossEntropy> {}; a class hides what it is made of, so say struct");
  };
};
template <bool Is> struct a_model_begins_with_its_input {
  static constexpr bool holds = Is;
  template <bool Holds> struct tell {
    static_assert(Holds, "Sequential: an input comes first, Vector<features> or Image<channels, height, width>");
  };
};
template <bool Is> struct every_part_of_a_model_is_a_layer {
  static constexpr bool holds = Is;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Sequential: after the input come layers (Linear<n>, Relu, ..., a loss), and this is none; a class "
                  "hides what it is made of, so say struct");
  };
};
template <class Option, bool Taken> struct the_layer_takes_this_option {
  static constexpr bool holds = Taken;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "the layer does not take this option. Linear takes NoBias, Glorot, SendFactors, SendCheapest and "
                  "ModelParallel, with Tied only NoBias; Conv also Stride, Pad, Groups, Dilation; ConvTranspose "
                  "NoBias, Glorot, Bilinear, Stride, Pad; pools Stride, Pad; "
                  "LocalResponseNorm Groups; Embedding SendDense, OfNumbers, PadToken, Tied");
  };
};
template <class Option, bool Once> struct each_option_is_given_once {
  static constexpr bool holds = Once;
  template <bool Holds> struct tell {
    static_assert(Holds, "the layer is given two options of one kind; give each kind once");
  };
};

}  // namespace cleave::layer
