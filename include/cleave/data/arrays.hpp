// data/arrays.hpp - samples in a program's own arrays: their sizes, checks, and the arrays as a source of samples.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "../meta/error.hpp"
#include "../meta/in_library.hpp"
#include "sample_source.hpp"

namespace cleave::session {

/// Views of arrays, which must outlive it: inputs (n, each_input), and labels (n, each_label) or targets (n,
/// each_target).
struct Arrays {
  int count = 0;
  std::size_t each_input = 0, each_target = 0, each_label = 1;
  std::span<float const> inputs;
  std::span<int const> labels;
  std::span<float const> targets;
  Shape shape{};    // of an input; none: (each_input)
  int classes = 0;  // unknown

  std::size_t features() const { return each_input; }
  std::size_t outputs() const { return each_target; }
  std::span<float const> input(long i) const {
    return inputs.subspan(static_cast<std::size_t>(i) * each_input, each_input);
  }
  std::span<float const> target(long i) const {
    return targets.subspan(static_cast<std::size_t>(i) * each_target, each_target);
  }
  int label(long i) const { return labels[static_cast<std::size_t>(i)]; }
};
/// x (n, inputs) with labels (n, of_each) or targets (n, outputs), one of which is empty. Throws Error if sizes do not
/// fit.
CLEAVE_IN_LIBRARY Arrays arrays_of(std::span<float const> x, std::span<int const> labels,
                                   std::span<float const> targets, long inputs, long outputs, int of_each = 1) {
  auto const each = static_cast<std::size_t>(inputs), out = static_cast<std::size_t>(outputs),
             each_label = static_cast<std::size_t>(of_each);
  if (x.empty() || x.size() % each != 0)
    throw Error({"x: ", x.size(), " numbers are no whole number of samples of ", each});
  std::size_t const n = x.size() / each;
  if (n > std::numeric_limits<int>::max())
    throw Error({"x: ", n, " samples; at most ", std::numeric_limits<int>::max(), " are possible"});
  if (targets.empty() && labels.size() != n * each_label)
    throw Error({"y: ", labels.size(), " labels for ", n, " samples",
                 (of_each > 1 ? " of " + std::to_string(of_each) + " positions" : "")});
  if (labels.empty() && targets.size() != n * out)
    throw Error({"y: ", targets.size(), " targets for ", n, " samples of ", out});
  return {static_cast<int>(n), each, targets.empty() ? 0 : out, each_label, x, labels, targets};
}

/// Numbers are finite; tokens are whole, from 0 to below the vocabulary.
CLEAVE_IN_LIBRARY void check_inputs(Arrays const& all, TokenInputs const& tokens) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(all.count); ++i) {
    std::string const wrong = what_is_wrong(tokens, &all.inputs[i * all.each_input], static_cast<long>(all.each_input));
    if (!wrong.empty()) throw Error({"x, sample ", i, ": ", wrong});
  }
}

/// Its samples, already checked; the arrays must outlive it.
CLEAVE_IN_LIBRARY SampleSource source_of(Arrays const& all) {
  SampleSource s;
  s.data = std::make_shared<Arrays const>(all);
  s.all = all.count;
  s.input = all.shape.dims > 0 ? all.shape : Shape(static_cast<int>(all.each_input));
  s.outputs = all.labels.empty() ? static_cast<int>(all.each_target) : 0;
  s.labels = static_cast<int>(all.each_label);
  s.in_memory = s.checked = true;
  s.read_one = [](void const* self, long i, Draw const*, float* x, int* labels, float* targets) {
    auto const& a = *static_cast<Arrays const*>(self);
    std::copy_n(a.input(i).data(), a.each_input, x);
    if (a.labels.empty()) {
      std::copy_n(a.target(i).data(), a.each_target, targets);
    } else {
      std::copy_n(a.labels.data() + static_cast<std::size_t>(i) * a.each_label, a.each_label, labels);
    }
  };
  if (!all.labels.empty() && all.each_label == 1)
    s.label_of = [](void const* self, long i) { return static_cast<Arrays const*>(self)->label(i); };
  return s;
}

}  // namespace cleave::session
