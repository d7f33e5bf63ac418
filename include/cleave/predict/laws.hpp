// predict/laws.hpp - what can be asked of a Predictor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../layer/graph.hpp"

namespace cleave::session {

template <class Loss> struct classes_are_of_a_loss_that_compares_with_classes {
  static constexpr bool holds = Loss::loss_target == op::Target::Class;
  template <bool Holds> struct tell {
    static_assert(Holds,
                  "Predictor: classes and probabilities are of a model that ends with CrossEntropy; of another take "
                  "its outputs: predict(x)");
  };
};
/// Instantiated, it tells if it does not hold; directly, which keeps the answer short.
template <class Net, class Ops = layer::ops_of<Net>>
using law_of_probabilities =
    classes_are_of_a_loss_that_compares_with_classes<meta::at<Ops, static_cast<std::size_t>(Ops::size) - 1>>;

}  // namespace cleave::session
