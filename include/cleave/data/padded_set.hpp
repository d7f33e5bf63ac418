// data/padded_set.hpp - samples of different length as a data set, filled up to the positions of the model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "../layer/input.hpp"
#include "../meta/error.hpp"
#include "dataset.hpp"

namespace cleave {

/// A sample's numbers, one position after the other, filled up with `padding` to the input's size. Throws Error if they
/// are more, or no whole number of positions.
template <class InputT, class T> void fill_up(std::span<T const> sample, float padding, std::span<float> out) {
  constexpr auto each = static_cast<std::size_t>(InputT::shape.size() / InputT::shape[0]);
  constexpr auto most = static_cast<std::size_t>(InputT::shape.size());
  if (sample.size() % each != 0) throw Error({sample.size(), " numbers are no whole number of positions of ", each});
  if (sample.size() > most)
    throw Error({sample.size() / each, " positions, but the model has ", most / each,
                 "; shorten the sample, or say more positions"});
  auto const to = std::ranges::transform(sample, out.begin(), [](T v) { return static_cast<float>(v); }).out;
  std::fill(to, out.begin() + static_cast<std::ptrdiff_t>(most), padding);
}

/// `padded<Vector<100>>(texts)`: samples of different length, as (n, input) for a predictor.
template <class InputT, class T>
std::vector<float> padded(std::vector<std::vector<T>> const& samples, float padding = 0) {
  auto const each = static_cast<std::size_t>(InputT::shape.size());
  std::vector<float> out(samples.size() * each);
  for (std::size_t i = 0; i < samples.size(); ++i)
    fill_up<InputT>(std::span<T const>(samples[i]), padding, std::span(out).subspan(i * each, each));
  return out;
}

/// `PaddedSet<Vector<100>, Class<2>> const reviews(tokens, labels);`: a list of tokens for each sample, or, of
/// `Sequence<positions, features>`, the features of one position after the other. Shorter samples are filled up with
/// `padding`, which the model knows by `Embedding<n, f, PadToken<0>>` or `Masking`. With `Class<n, positions>` the
/// labels are lists too, filled up with -1. Throws Error, with the sample, if one is empty or too long, or if its
/// labels are not as many.
template <class InputT, class TargetT, class T = int> class PaddedSet {
 public:
  using Input = InputT;
  using Target = TargetT;
  static constexpr bool in_memory = true;
  static constexpr bool of_positions = Target::labels > 1;
  using Label = std::conditional_t<of_positions, std::vector<int>, int>;

  PaddedSet(std::vector<std::vector<T>> samples, std::vector<Label> labels, float padding = 0)
      : samples_(std::move(samples)), labels_(std::move(labels)), padding_(padding) {
    if (samples_.size() != labels_.size())
      throw Error({"PaddedSet: ", samples_.size(), " samples, but ", labels_.size(), " labels"});
    std::vector<float> x(static_cast<std::size_t>(Input::shape.size()));
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (samples_[i].empty()) throw Error({"PaddedSet: sample ", i, " is empty"});
      try {
        fill_up<Input>(std::span<T const>(samples_[i]), padding, x);
      } catch (Error const& e) {
        throw Error({"PaddedSet: sample ", i, ": ", e.what()});
      }
      if constexpr (of_positions) {
        std::size_t const positions = samples_[i].size() / each;
        if (labels_[i].size() != positions)
          throw Error({"PaddedSet: sample ", i, ": ", labels_[i].size(), " labels for ", positions, " positions"});
      }
    }
  }
  /// What shorter samples are filled up with.
  float padding() const { return padding_; }
  long size() const { return static_cast<long>(samples_.size()); }
  void read(long i, std::span<float> x, typename Target::Read y) const {
    auto const at = static_cast<std::size_t>(i);
    fill_up<Input>(std::span<T const>(samples_[at]), padding_, x);
    if constexpr (of_positions) {
      std::fill(std::ranges::copy(labels_[at], y.begin()).out, y.end(), Target::ignored);
    } else {
      y = labels_[at];
    }
  }
  int label(long i) const requires(!of_positions) { return labels_[static_cast<std::size_t>(i)]; }

 private:
  static_assert(Input::shape.dims < 3,
                "PaddedSet: its samples are sequences, Vector<tokens> or Sequence<positions, features>");
  static_assert(!of_positions || Target::labels == Input::shape[0], "PaddedSet: a label for each position");
  static constexpr auto each = static_cast<std::size_t>(Input::shape.size() / Input::shape[0]);
  std::vector<std::vector<T>> samples_;
  std::vector<Label> labels_;
  float padding_;
};

}  // namespace cleave
