// train/predicted_classes.hpp - the class that a trainer predicts for each of some samples, wherever its ranks are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <vector>

#include "../backend/host/execution/feed.hpp"
#include "description.hpp"

namespace cleave::session {

/// An evaluation in which sample i has label i: the confusion matrix has one sample a row, at its predicted class.
/// `input(i, x)` writes sample i as the model takes it. `classes`: outputs of the model.
template <class Trained, class Input>
std::vector<int> predicted_classes(Trained& trainer, Input const& input, long classes, long samples) {
  struct Numbered {
    Input const& input;
    long first, elements;
  };
  std::vector<int> out;
  while (static_cast<long>(out.size()) < samples) {
    Numbered const from{input, static_cast<long>(out.size()), description_of(trainer).program.input.size()};
    backend::host::Feed const numbered{&from,
                                       [](void const* self, long, long first, int count, float* to) {
                                         auto const& me = *static_cast<Numbered const*>(self);
                                         for (long i = first; i < first + count; ++i, to += me.elements)
                                           me.input(me.first + i, to);
                                       },
                                       [](void const*, long, long first, int count, int* to) {
                                         for (int i = 0; i < count; ++i) to[i] = static_cast<int>(first) + i;
                                       },
                                       nullptr};
    long const count =
        std::min({classes, samples - from.first, long{description_of(trainer).batch}});  // one batch, whose step is 0
    auto const pairs = trainer.score(numbered, count).confusion;
    for (long i = 0; i < count; ++i) {
      auto const row = pairs.begin() + i * classes;
      out.push_back(static_cast<int>(std::max_element(row, row + classes) - row));
    }
  }
  return out;
}

}  // namespace cleave::session
