// data/checks.hpp - labels and targets of a set against what the loss of a plan compares with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <string>

#include "../backend/host/execution/feed.hpp"
#include "../meta/list.hpp"

namespace cleave::session {

/// Whether one of a model's operations takes positions of zeros for padding.
template <class... Ops> constexpr bool masks_zeros(meta::list<Ops...>) {
  return (requires { Ops::masks_zeros; } || ...);
}
/// Whether one of them reads tokens among numbers.
template <class... Ops> constexpr bool reads_whole_numbers(meta::list<Ops...>) { return (Ops::whole_numbers || ...); }
/// Throws Error if a data set fills samples up with other numbers than the model's operations take for padding.
template <class D, class... Ops> void check_padding(char const* call, D const& set, meta::list<Ops...>) {
  if constexpr (requires { set.padding(); }) {
    auto const check = [&](int padding) {
      float const filled = set.padding();
      if (filled != static_cast<float>(padding))
        throw Error({call, ": the data set fills samples up with ", std::to_string(filled), ", but to the model ",
                     padding, " is padding; say the same number in both"});
    };
    auto const of_op = [&]<class Op>(meta::type<Op>) {
      if constexpr (requires { Op::padding; }) check(Op::padding);
    };
    (of_op(meta::type<Ops>{}), ...);
  }
}

inline void check_labels(std::string const& name, auto const& set, backend::host::Wanted const& w) {
  if (set.classes > w.outputs) {
    throw Error({name, " has ", set.classes, " classes, but the model ends with ", w.outputs,
                 " outputs; end it with Linear<", set.classes, "> before the loss"});
  }
  long const classes = set.classes > 0 ? set.classes : w.outputs;
  for (std::size_t i = 0; i < set.labels.size(); ++i) {
    long const label = set.labels[i];
    if (w.labels > 1 && label == op::ignored) continue;
    if (label >= 0 && label < classes) continue;
    throw Error(
        {name, ", sample ", i / static_cast<std::size_t>(w.labels), ": label ", label, ", but there are ", classes,
         " classes, 0 to ", classes - 1,
         (w.target != op::Target::Class ? "; " + std::string(w.loss) + " also compares with numbers: give y as float"
          : set.classes > 0             ? "; correct the label, or the data class's number of classes"
                            : "; correct the label, or give the model's last layer an output for every class")});
  }
}
inline void check_targets(std::string const& name, auto const& set, backend::host::Wanted const& w) {
  if (w.target == op::Target::Class && set.labels.empty()) {
    throw Error(
        {name, " has target numbers, but ", w.loss, " compares with classes; end the model with MeanSquaredError"});
  }
  if (w.target != op::Target::Class && !set.targets.empty() && static_cast<long>(set.outputs()) != w.outputs) {
    throw Error({name, " has ", set.outputs(), " targets a sample, but the model ends with ", w.outputs,
                 " outputs; end it with Linear<", set.outputs(), "> before the loss"});
  }
  for (std::size_t i = 0; i < set.targets.size(); ++i) {
    if (!std::isfinite(set.targets[i]))
      throw Error({name, ", sample ", i / set.outputs(), ": target ", i % set.outputs(),
                   " is not a finite number; leave the sample out"});
    if (w.target == op::Target::Shares && !(set.targets[i] >= 0 && set.targets[i] <= 1))
      throw Error({name, ", sample ", i / set.outputs(), ": target ", i % set.outputs(), " is ",
                   std::to_string(set.targets[i]), ", but ", w.loss, " compares with numbers from 0 to 1"});
  }
}

}  // namespace cleave::session
