// data/sample_source.hpp - a data set of any type, or a part of it, behind one function: what loops over samples see.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../backend/host/execution/feed.hpp"
#include "../meta/in_library.hpp"
#include "dataset.hpp"
#include "preprocessing.hpp"
#include "shuffle.hpp"
#include "token_inputs.hpp"

namespace cleave::session {

/// Samples of a data set, which must outlive it unless `data` owns it.
struct SampleSource {
  std::shared_ptr<void const> data;
  /// Writes the input, and the labels or the targets; a null draw: as the sample is.
  void (*read_one)(void const* data, long i, Draw const* draw, float* x, int* labels, float* targets) = nullptr;
  int (*label_of)(void const* data, long i) = nullptr;  // null: only known by reading
  long all = 0;                                         // of the data set
  Shape input;
  int outputs = 0;  // targets of a sample; 0: it has labels
  int labels = 1;   // of a sample
  int classes = 0;  // labels are below it; 0: unknown
  bool in_memory = false, varied = false, series = false;
  float (*weight_of)(void const* data, long i) = nullptr;  // in a SampleWeighted loss; null: 1
  std::shared_ptr<std::vector<float> const> weights;       // the same, of all samples; null: none
  long (*place_of)(void const* data, long i) = nullptr;    // in the series that these are of; null: i
  int overlap = 0;                                         // samples of a series so far apart share data
  bool checked = false;                                    // all samples are, before
  std::shared_ptr<std::vector<int> const> part;            // numbers of samples; null: all
  std::vector<std::string> class_names{};

  long size() const { return part ? static_cast<long>(part->size()) : all; }
  /// The number in the data set of sample i.
  long number(long i) const { return part ? (*part)[static_cast<std::size_t>(i)] : i; }
  /// Of sample i in the series.
  long place(long i) const { return place_of ? place_of(data.get(), number(i)) : number(i); }
  bool has_weights() const { return weight_of || weights; }
  float weight(long i) const {
    return weights ? (*weights)[static_cast<std::size_t>(number(i))] : weight_of ? weight_of(data.get(), number(i)) : 1;
  }
  bool has_labels() const { return outputs == 0; }
  /// What a scaling has a mean of: the channels of images, the features of vectors and of all positions of sequences.
  int channels() const { return input.dims == 1 ? input[0] : input[input.dims == 2 ? 1 : 0]; }
  bool by_position() const { return input.dims == 2; }
  void read(long i, Draw const* draw, float* x, int* to, float* targets) const {
    read_one(data.get(), number(i), draw, x, to, targets);
  }
  SampleSource only(std::vector<int> numbers) const {
    SampleSource out = *this;
    out.part = std::make_shared<std::vector<int> const>(std::move(numbers));
    return out;
  }
};

template <Dataset D> SampleSource source_of(D const& of) {
  SampleSource s;
  s.data = std::shared_ptr<void const>(std::shared_ptr<void const>(), &of);
  s.all = static_cast<long>(of.size());
  if (s.all > std::numeric_limits<int>::max())
    throw Error({"a data set of ", s.all, " samples; at most ", std::numeric_limits<int>::max(), " are possible"});
  s.input = D::Input::shape;
  s.varied = VariedDataset<D>;
  s.in_memory = is_in_memory<D>;
  s.series = is_series<D>;
  s.overlap = overlap_of<D>;
  if constexpr (requires { of.place(0L); })
    s.place_of = [](void const* self, long i) { return static_cast<D const*>(self)->place(i); };
  if constexpr (requires { of.weight(0L); })
    s.weight_of = [](void const* self, long i) { return static_cast<float>(static_cast<D const*>(self)->weight(i)); };
  if constexpr (requires { of.class_names(); }) s.class_names = of.class_names();
  if constexpr (ClassDataset<D>) {
    s.classes = D::Target::classes;
    s.labels = D::Target::labels;
  } else {
    s.outputs = D::Target::values;
  }
  s.read_one = [](void const* self, long i, Draw const* draw, float* to, int* labels, float* targets) {
    D const& d = *static_cast<D const*>(self);
    std::span<float> const x(to, static_cast<std::size_t>(D::Input::shape.size()));
    auto const read = [&](auto&& y) {
      if constexpr (VariedDataset<D>) {
        if (draw) return d.read(i, *draw, x, y);
      }
      d.read(i, x, y);
    };
    if constexpr (ClassDataset<D>) {
      static_assert(Class<1>::ignored == op::ignored);
      std::fill_n(labels, D::Target::labels, op::ignored - 1);  // is refused, unless it is read
      if constexpr (D::Target::labels == 1) {
        read(*labels);
      } else {
        read(std::span<int>(labels, static_cast<std::size_t>(D::Target::labels)));
      }
    } else {
      read(std::span<float>(targets, static_cast<std::size_t>(D::Target::values)));
    }
  };
  if constexpr (requires {
                  { of.label(0L) } -> std::convertible_to<int>;
                }) {
    s.label_of = [](void const* self, long i) { return static_cast<int>(static_cast<D const*>(self)->label(i)); };
  }
  return s;
}

/// What is read is checked: inputs are finite (or tokens of a vocabulary), labels are classes, targets are finite.
/// Throws Error with the sample's number.
struct SampleCheck {
  backend::host::Wanted answers;
  TokenInputs tokens{};

  void operator()(SampleSource const& of, long i, float const* x, int const* labels, float const* targets) const {
    auto const fail = [&](meta::Pieces what) { throw Error({"sample ", of.number(i), ": ", meta::joined(what)}); };
    if (std::string const wrong = what_is_wrong(tokens, x, of.input.size()); !wrong.empty()) fail({wrong});
    if (of.has_labels()) {
      for (int k = 0; k < of.labels; ++k) {
        if (of.labels > 1 && labels[k] == op::ignored) continue;
        if (labels[k] >= 0 && labels[k] < answers.outputs) continue;
        fail({"label ", labels[k], (of.labels > 1 ? " of position " + std::to_string(k) : ""), ", but there are ",
              answers.outputs, " classes, 0 to ", answers.outputs - 1});
      }
      return;
    }
    for (long k = 0; k < of.outputs; ++k) {
      bool const share = answers.target != op::Target::Shares || (targets[k] >= 0 && targets[k] <= 1);
      if (!std::isfinite(targets[k]) || !share)
        fail({"target ", k, " is ", meta::short_number(static_cast<double>(targets[k])),
              (share ? ", not a finite number; leave the sample out" : ", but labels are from 0 to 1")});
    }
  }
};

/// Throws Error if a set to evaluate has other class names than the model was trained with, or in another order: its
/// labels would be of other classes.
CLEAVE_IN_LIBRARY void check_class_names(std::vector<std::string> const& trained,
                                         std::vector<std::string> const& given) {
  if (trained.empty() || given.empty() || trained == given) return;
  std::size_t c = 0;
  while (c < trained.size() && c < given.size() && trained[c] == given[c]) ++c;
  auto const name = [&](std::vector<std::string> const& of) { return c < of.size() ? "\"" + of[c] + "\"" : "none"; };
  throw Error({"the set to evaluate: class ", c, " is ", name(given), ", but the model was trained with ",
               name(trained), " there; give its classes the same names in the same order"});
}

/// Of all samples of a source, each read once.
CLEAVE_IN_LIBRARY Scaling scaling_of(SampleSource const& of) {
  ScalingSum sum(of.channels(), of.by_position());
  std::vector<float> x(static_cast<std::size_t>(of.input.size())), targets(static_cast<std::size_t>(of.outputs));
  std::vector<int> labels(static_cast<std::size_t>(of.labels));
  for (long i = 0; i < of.size(); ++i) {
    of.read(i, nullptr, x.data(), labels.data(), targets.data());
    sum.add(std::span<float const>(x));
  }
  return sum.result();
}

/// Throws Error, which begins with what was called, if a weight of a sample is below 0 or not finite.
inline void check_weights(std::string_view call, std::vector<float> const& weights) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (std::isfinite(weights[i]) && weights[i] >= 0) continue;
    throw Error({call, ": the weight of sample ", i, " is ", meta::short_number(static_cast<double>(weights[i])),
                 ", not a finite number of 0 or more"});
  }
}

/// A number for numbers that several processes must have alike (FNV-1a, a word at a time).
inline std::uint64_t checksum_of(std::initializer_list<long> numbers, std::uint64_t sum = 0xCBF29CE484222325u) {
  for (long const n : numbers) sum = (sum ^ static_cast<std::uint64_t>(n)) * 0x100000001B3u;
  return sum;
}
inline std::uint64_t checksum_of(std::string_view text, std::uint64_t sum = 0xCBF29CE484222325u) {
  for (char const c : text) sum = checksum_of({c}, sum);
  return sum;
}
/// Of the sizes, and of all samples; of a data set that is not in memory, of 1000 that lie evenly in it.
CLEAVE_IN_LIBRARY std::uint64_t checksum_of(SampleSource const& all) {
  std::uint64_t sum = checksum_of({all.size(), all.input.size(), all.outputs});
  std::vector<float> x(static_cast<std::size_t>(all.input.size())), targets(static_cast<std::size_t>(all.outputs));
  long const read = all.in_memory ? all.size() : std::min(all.size(), 1000L);
  for (long k = 0; k < read; ++k) {
    long const i = read > 1 ? k * (all.size() - 1) / (read - 1) : 0;
    std::vector<int> labels(static_cast<std::size_t>(all.labels));
    all.read(i, nullptr, x.data(), labels.data(), targets.data());
    for (auto const* values : {&x, &targets})
      for (float const v : *values) sum = checksum_of({std::bit_cast<std::int32_t>(v)}, sum);
    for (int const label : labels) sum = checksum_of({label}, sum);
    if (all.weight_of) sum = checksum_of({std::bit_cast<std::int32_t>(all.weight(i))}, sum);
  }
  for (long i = 0; all.weights && i < all.size(); ++i)
    sum = checksum_of({std::bit_cast<std::int32_t>(all.weight(i))}, sum);
  return sum;
}

/// The samples in an order drawn from the seed, each class by itself where labels are known without reading, else all.
inline std::map<int, std::vector<int>> drawn_by_class(SampleSource const& all, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(all.size()));
  shuffle(order, {seed, tensor::Purpose::Shuffle, 0xffffffffu});  // the number of no epoch
  std::map<int, std::vector<int>> classes;
  for (int const i : order) classes[all.label_of ? all.label_of(all.data.get(), all.number(i)) : 0].push_back(i);
  return classes;
}

/// Whether one of these places, sorted, is no more than `overlap` from `at`. With an overlap of 0: no.
inline bool near(std::vector<long> const& places, long at, int overlap) {
  auto const next = std::lower_bound(places.begin(), places.end(), at - overlap);
  return overlap > 0 && next != places.end() && *next <= at + overlap;
}

/// The samples for training, and those held out: round(n * fraction) of every class where labels are known without
/// reading, else of all; drawn from the seed. Of a series they are the last ones, and
/// those before them that share data with them are in neither.
CLEAVE_IN_LIBRARY std::pair<SampleSource, SampleSource> split(SampleSource const& all, double fraction,
                                                              std::uint64_t seed) {
  if (all.size() == 0) return {all, all};
  if (all.series) {
    std::vector<int> order(static_cast<std::size_t>(all.size()));
    std::iota(order.begin(), order.end(), 0);
    long const held = std::min(std::lround(static_cast<double>(all.size()) * fraction), all.size() - 1);
    for (int& i : order) i = static_cast<int>(all.number(i));
    std::vector<int> training, held_out(order.end() - held, order.end());
    std::vector<long> places;
    for (long i = all.size() - held; i < all.size(); ++i) places.push_back(all.place(i));
    std::sort(places.begin(), places.end());
    for (long i = 0; i < all.size() - held; ++i) {
      if (!near(places, all.place(i), all.overlap)) training.push_back(order[static_cast<std::size_t>(i)]);
    }
    return {all.only(std::move(training)), all.only(std::move(held_out))};
  }
  std::vector<int> training, held_out;
  for (auto const& [label, samples] : drawn_by_class(all, seed)) {
    auto const n = static_cast<long>(samples.size());
    auto const held = samples.begin() + std::min(std::lround(static_cast<double>(n) * fraction), n - 1);
    held_out.insert(held_out.end(), samples.begin(), held);
    training.insert(training.end(), held, samples.end());
  }
  for (auto* part : {&training, &held_out}) {
    std::sort(part->begin(), part->end());
    for (int& i : *part) i = static_cast<int>(all.number(i));
  }
  return {all.only(std::move(training)), all.only(std::move(held_out))};
}

/// The fold of each sample, 0 to k - 1: of each class as many in every fold, up to one, where labels are known without
/// reading. Of a series, runs of samples.
inline std::vector<int> fold_of_each(SampleSource const& all, int k, std::uint64_t seed) {
  auto const n = static_cast<std::size_t>(all.size());
  std::vector<int> fold(n);
  if (all.series) {
    for (std::size_t i = 0; i < n; ++i) fold[i] = static_cast<int>(i * static_cast<std::size_t>(k) / n);
    return fold;
  }
  std::size_t next = 0;
  for (auto const& [label, samples] : drawn_by_class(all, seed))
    for (int const i : samples)
      fold[static_cast<std::size_t>(i)] = static_cast<int>(next++ % static_cast<std::size_t>(k));
  return fold;
}

}  // namespace cleave::session
