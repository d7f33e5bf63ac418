// predict/laws.hpp - what can be asked of a Predictor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../layer/graph.hpp"
#include "../op/operands.hpp"

namespace cleave::session {

template <class Net, class Ops = layer::ops_of<Net>>
using loss_of = meta::at<Ops, static_cast<std::size_t>(Ops::size) - 1>;

/// Whether Net is this model, or a part of it with the names of its tensors.
template <class Net, class Of> inline constexpr bool is_of_model = std::is_same_v<Net, Of>;
template <class Net, class Of>
requires requires { typename Net::part_of; }
inline constexpr bool is_of_model<Net, Of> = std::is_same_v<typename Net::part_of, Of>;

template <bool Is> struct a_predictor_is_given_a_model {
  static constexpr bool holds = Is;
  template <bool Holds> struct tell {
    static_assert(Holds, "Predictor<Net>: this is a plan, and a predictor is of its model: Predictor<Train::Net>");
  };
};
template <class Loss> struct probabilities_are_of_logits {
  static constexpr bool holds = Loss::loss_target == op::Target::Class || Loss::loss_target == op::Target::Shares;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Predictor: probabilities are of a model that ends with CrossEntropy or BinaryCrossEntropy; of "
                  "another take its outputs: predict(x)");
  };
};
template <class Loss> struct classes_are_of_a_loss_that_compares_with_classes {
  static constexpr bool holds = Loss::loss_target == op::Target::Class;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Predictor: classes are of a model that ends with CrossEntropy; of another take "
                  "its outputs: predict(x)");
  };
};
// Instantiated directly, they tell in few lines what does not hold.
template <class Net> using law_of_classes = classes_are_of_a_loss_that_compares_with_classes<loss_of<Net>>;
template <class Net> using law_of_probabilities = probabilities_are_of_logits<loss_of<Net>>;

}  // namespace cleave::session
