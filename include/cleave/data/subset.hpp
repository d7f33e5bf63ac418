// data/subset.hpp - a part of a data set, as a data set; split: a share of one held out; folds: each share in turn.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sample_source.hpp"

namespace cleave {

/// The samples of `of` with these numbers; `of` must outlive it. Throws Error if a number is none of a sample.
template <Dataset D> class Subset {
 public:
  using Input = typename D::Input;
  using Target = typename D::Target;
  static constexpr bool in_memory = session::is_in_memory<D>, series = session::is_series<D>;
  static constexpr int overlap = session::overlap_of<D>;

  Subset(D const& of, std::vector<int> numbers) : of_(&of), numbers_(std::move(numbers)) {
    for (int const i : numbers_) {
      if (i < 0 || i >= static_cast<long>(of.size())) throw Error({"Subset: sample ", i, " of ", of.size()});
    }
  }
  Subset(D const&& of, std::vector<int> numbers) = delete;

  long size() const { return static_cast<long>(numbers_.size()); }
  std::vector<int> const& numbers() const { return numbers_; }
  void read(long i, std::span<float> x, typename Target::Read y) const { of_->read(number(i), x, y); }
  void read(long i, Draw const& draw, std::span<float> x, typename Target::Read y) const requires VariedDataset<D> {
    of_->read(number(i), draw, x, y);
  }
  /// Of a sample in the series, if this is a part of one.
  long place(long i) const {
    if constexpr (requires { of_->place(0L); }) return of_->place(number(i));
    return number(i);
  }
  int label(long i) const requires requires(D const& d) { d.label(0L); }
  { return of_->label(number(i)); }
  float weight(long i) const requires requires(D const& d) { d.weight(0L); }
  { return of_->weight(number(i)); }
  auto class_names() const requires requires(D const& d) { d.class_names(); }
  { return of_->class_names(); }

 private:
  long number(long i) const { return numbers_[static_cast<std::size_t>(i)]; }

  D const* of_;
  std::vector<int> numbers_;
};

/// `auto const [training, test] = split(all, 0.2);`: round(n * fraction) samples are held out, of every class the same
/// share where the data set has `label`, drawn from the seed. Throws Error if a part is empty.
template <Dataset D> std::pair<Subset<D>, Subset<D>> split(D const& all, double fraction, std::uint64_t seed = 1) {
  if (!(fraction > 0 && fraction < 1))
    throw Error({"split: a share of ", std::to_string(fraction), "; say one above 0 and below 1"});
  auto const [training, held_out] = session::split(session::source_of(all), fraction, seed);
  if (training.size() == 0 || held_out.size() == 0)
    throw Error({"split: a share of ", std::to_string(fraction), " of ", all.size(), " samples leaves a part empty"});
  return {Subset<D>(all, *training.part), Subset<D>(all, *held_out.part)};
}
template <Dataset D>
void split(D const&& all, double fraction, std::uint64_t seed = 1) = delete;  // the parts view the data set

/// Of k-fold cross-validation: `for (auto const& [training, validation] : folds(all, 5)) ...`: k pairs, in which every
/// sample is held out once; of every class the same share where the data set has `label`. Drawn from the seed. Throws
/// Error if there are fewer samples than folds.
template <Dataset D> std::vector<std::pair<Subset<D>, Subset<D>>> folds(D const& all, int k, std::uint64_t seed = 1) {
  if (k < 2 || k > static_cast<long>(all.size()))
    throw Error({"folds: ", k, " folds of ", all.size(), " samples; say at least 2, and at most as many as samples"});
  session::SampleSource const of = session::source_of(all);
  std::vector<int> const fold = session::fold_of_each(of, k, seed);
  std::vector<std::pair<Subset<D>, Subset<D>>> out;
  for (int f = 0; f < k; ++f) {
    std::vector<int> training, validation;
    std::vector<long> places;
    for (int i = 0; i < static_cast<int>(fold.size()); ++i) {
      if (fold[static_cast<std::size_t>(i)] == f) validation.push_back(i), places.push_back(of.place(i));
    }
    std::sort(places.begin(), places.end());
    for (int i = 0; i < static_cast<int>(fold.size()); ++i) {
      bool const shares = of.series && session::near(places, of.place(i), of.overlap);
      if (fold[static_cast<std::size_t>(i)] != f && !shares) training.push_back(i);
    }
    if (training.empty())
      throw Error({"folds: fold ", f, " of ", k, " leaves no samples to train on that share no data with it"});
    out.emplace_back(Subset<D>(all, std::move(training)), Subset<D>(all, std::move(validation)));
  }
  return out;
}
template <Dataset D> void folds(D const&& all, int k, std::uint64_t seed = 1) = delete;

}  // namespace cleave
