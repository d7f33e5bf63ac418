// data/weighted_set.hpp - weights of samples, for a SampleWeighted loss: of a data set, and by class.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "sample_source.hpp"

namespace cleave {

/// The samples of `of`, which must outlive it, each with a weight.
template <Dataset D> class WeightedSet {
  static_assert(
      !requires(D const& d) { d.weight(0L); }, "with_weights: the samples of this data set have weights already");

 public:
  using Input = typename D::Input;
  using Target = typename D::Target;
  static constexpr bool in_memory = session::is_in_memory<D>, series = session::is_series<D>;
  static constexpr int overlap = session::overlap_of<D>;

  WeightedSet(D const& of, std::vector<float> weights) : of_(&of), weights_(std::move(weights)) {
    if (static_cast<long>(weights_.size()) != static_cast<long>(of.size()))
      throw Error({"with_weights: ", weights_.size(), " weights for ", of.size(), " samples"});
    session::check_weights("with_weights", weights_);
  }
  WeightedSet(D const&& of, std::vector<float> weights) = delete;

  long size() const { return static_cast<long>(of_->size()); }
  void read(long i, std::span<float> x, typename Target::Read y) const { of_->read(i, x, y); }
  void read(long i, Draw const& draw, std::span<float> x, typename Target::Read y) const requires VariedDataset<D> {
    of_->read(i, draw, x, y);
  }
  float weight(long i) const { return weights_[static_cast<std::size_t>(i)]; }
  long place(long i) const requires requires(D const& d) { d.place(0L); }
  { return of_->place(i); }
  int label(long i) const requires requires(D const& d) { d.label(0L); }
  { return of_->label(i); }
  float padding() const requires requires(D const& d) { d.padding(); }
  { return of_->padding(); }
  auto class_names() const requires requires(D const& d) { d.class_names(); }
  { return of_->class_names(); }
  static constexpr std::uint32_t stages = [] {
    if constexpr (requires { D::stages; }) return std::uint32_t{D::stages};
    return std::uint32_t{1};
  }();

 private:
  D const* of_;
  std::vector<float> weights_;
};

/// `trainer.fit(with_weights(clicks, weights))`: a weight for each sample, 0 or more, for a model that ends with
/// SampleWeighted<loss>. Throws Error if they do not fit.
template <Dataset D> WeightedSet<D> with_weights(D const& of, std::vector<float> weights) {
  return WeightedSet<D>(of, std::move(weights));
}
template <Dataset D> void with_weights(D const&& of, std::vector<float> weights) = delete;  // it views the data set

/// The classes of all samples of a data set that tells them without reading, to weigh them.
template <Dataset D>
requires requires(D const& d) { d.label(0L); }
std::vector<int> labels_of(D const& of) {
  std::vector<int> out(static_cast<std::size_t>(of.size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int>(of.label(static_cast<long>(i)));
  return out;
}
/// The weight of each sample: that of its class. `{.sample_weights = class_weights(y, {1, 4.5f})}`. Throws Error for a
/// class that has none.
inline std::vector<float> class_weights(std::span<int const> y, std::vector<float> const& of_class) {
  std::vector<float> out;
  out.reserve(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] < 0 || y[i] >= static_cast<long>(of_class.size()))
      throw Error({"class_weights: sample ", i, " is of class ", y[i], ", but there are weights of ", of_class.size(),
                   " classes, 0 to ", static_cast<long>(of_class.size()) - 1});
    out.push_back(of_class[static_cast<std::size_t>(y[i])]);
  }
  return out;
}
/// Weights with which every class counts as much in total: n / (classes * samples of the class) for each of n samples,
/// by the classes that are there, so that the mean weight is 1. `{.sample_weights = balanced_weights(y)}`. Throws Error
/// for a class below 0.
inline std::vector<float> balanced_weights(std::span<int const> y) {
  std::vector<long> count;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] < 0) throw Error({"balanced_weights: sample ", i, " is of class ", y[i]});
    if (y[i] >= static_cast<long>(count.size())) count.resize(static_cast<std::size_t>(y[i]) + 1);
    ++count[static_cast<std::size_t>(y[i])];
  }
  long there = 0;
  for (long const n : count) there += n > 0;
  std::vector<float> of_class(count.size());
  for (std::size_t c = 0; c < count.size(); ++c) {
    double const all = static_cast<double>(y.size()), in_it = static_cast<double>(there * count[c]);
    if (count[c] > 0) of_class[c] = static_cast<float>(all / in_it);
  }
  return class_weights(y, of_class);
}

}  // namespace cleave
