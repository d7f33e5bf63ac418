// data/laws.hpp - what must hold between a data set and the model that is trained on it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../meta/law.hpp"

namespace cleave::session {

/// Of several inputs, these are the same.
template <class Samples, class Model> struct samples_have_the_shape_of_the_models_input {
  static constexpr bool several = requires { Samples::whole, Model::whole; };
  static constexpr bool holds = several ? std::is_same_v<Samples, Model> : Samples::shape == Model::shape;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "fit: the samples of this data set have another shape than the model's input; begin the model with "
                  "the data set's Input, or read samples of the model's shape");
  };
};
template <int Classes, long Outputs> struct classes_are_as_many_as_outputs {
  static constexpr bool holds = Classes == Outputs;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "fit: the data set has another number of classes than the model has outputs; end the model with "
                  "Linear<classes> before the loss");
  };
};
template <int Values, long Outputs> struct values_are_as_many_as_outputs {
  static constexpr bool holds = Values == Outputs;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "fit: a sample of this data set has another number of values than the model has outputs; end the "
                  "model with Linear<values> before the loss");
  };
};
template <int Given, int Wanted> struct each_position_has_a_class {
  static constexpr bool holds = Given == Wanted;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "fit: the data set has classes for another number of positions than the model compares: a model that "
                  "ends with CrossEntropy takes Target = Class<n>; with PerPosition<..., CrossEntropy>, Class<n, "
                  "positions>");
  };
};
template <class Target, bool Takes> struct the_loss_takes_the_target {
  static constexpr bool holds = Takes;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "fit: CrossEntropy compares with classes, Target = Class<n>; MeanSquaredError, Huber and "
                  "BinaryCrossEntropy with values, Target = Values<n>");
  };
};

template <bool Given, bool Read> struct weights_of_samples_are_read {
  static constexpr bool holds = Read || !Given;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "fit: the samples of this data set have weights, which the loss does not read; end the model with "
                  "SampleWeighted<loss>, as in SampleWeighted<CrossEntropy>");
  };
};

template <class Target, long Outputs, int Labels> struct as_many_as_outputs_ {
  using type = values_are_as_many_as_outputs<Target::values, Outputs>;
};
template <class Target, long Outputs, int Labels>
requires requires { Target::classes; }
struct as_many_as_outputs_<Target, Outputs, Labels> {
  using type = meta::first_violated<each_position_has_a_class<Target::labels, Labels>,
                                    classes_are_as_many_as_outputs<Target::classes, Outputs>>;
};
/// Of data set D and a model that begins with Input, whose loss reads `Outputs` numbers for each of `Labels` classes,
/// and compares with classes, or values, or either, and reads weights of samples or not. Instantiated directly, it
/// tells in few lines what does not hold.
template <class Input, class D, long Outputs, int Labels, bool TakesClasses, bool TakesValues, bool ReadsWeights>
using law_of_data = meta::first_violated<
    samples_have_the_shape_of_the_models_input<typename D::Input, Input>,
    the_loss_takes_the_target<typename D::Target, (requires { D::Target::classes; }) ? TakesClasses : TakesValues>,
    typename as_many_as_outputs_<typename D::Target, Outputs, Labels>::type,
    weights_of_samples_are_read<(requires(D const& d) { d.weight(0L); }), ReadsWeights>>;

}  // namespace cleave::session
