// data/arrays.hpp - samples in a program's own arrays, as a set; and a part of them held out for validation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../meta/error.hpp"
#include "../tensor/philox.hpp"

namespace cleave::session {

/// Views of arrays, which must outlive it: inputs (n, each_input), and labels (n) or targets (n, each_target). With
/// `index`, the samples of these numbers; else all.
struct Arrays {
  int count = 0;
  std::size_t each_input = 0, each_target = 0;
  std::span<float const> inputs;
  std::span<int const> labels;
  std::span<float const> targets;
  std::vector<int> index{};
  int channels = 0;  // of images; 0: every input is one
  int classes = 0;   // unknown

  std::size_t features() const { return each_input; }
  std::size_t outputs() const { return each_target; }
  int channel_count() const { return channels > 0 ? channels : static_cast<int>(each_input); }
  std::span<float const> input(int i) const { return inputs.subspan(at(i) * each_input, each_input); }
  std::span<float const> target(int i) const { return targets.subspan(at(i) * each_target, each_target); }
  int label(int i) const { return labels[at(i)]; }

 private:
  std::size_t at(int i) const {
    return static_cast<std::size_t>(index.empty() ? i : index[static_cast<std::size_t>(i)]);
  }
};
inline void check_sizes(std::string const& name, Arrays const& set) {
  if (set.count < 1) throw Error(name + ": no samples");
}

/// x (n, inputs) with labels (n) or targets (n, outputs), one of which is empty. Throws Error if sizes do not fit.
inline Arrays arrays_of(std::span<float const> x, std::span<int const> labels, std::span<float const> targets,
                        long inputs, long outputs) {
  auto const each = static_cast<std::size_t>(inputs), out = static_cast<std::size_t>(outputs);
  auto const text = [](std::size_t n) { return std::to_string(n); };
  if (x.empty() || x.size() % each != 0)
    throw Error("x: " + text(x.size()) + " numbers are no whole number of samples of " + text(each));
  std::size_t const n = x.size() / each;
  if (targets.empty() && labels.size() != n)
    throw Error("y: " + text(labels.size()) + " labels for " + text(n) + " samples");
  if (labels.empty() && targets.size() != n * out)
    throw Error("y: " + text(targets.size()) + " targets for " + text(n) + " samples of " + text(out));
  return {static_cast<int>(n), each, targets.empty() ? 0 : out, x, labels, targets};
}

/// A number for numbers that several processes must have alike (FNV-1a, a word at a time).
inline std::uint64_t checksum_of(std::initializer_list<long> numbers, std::uint64_t sum = 0xCBF29CE484222325u) {
  for (long const n : numbers) sum = (sum ^ static_cast<std::uint64_t>(n)) * 0x100000001B3u;
  return sum;
}
/// Of the sizes, and of the first and the last sample.
inline std::uint64_t checksum_of(Arrays const& all) {
  std::uint64_t sum = checksum_of({all.count});
  auto const add = [&](std::span<float const> values) {
    for (float const v : values) sum = checksum_of({std::bit_cast<std::int32_t>(v)}, sum);
  };
  for (int const i : {0, all.count - 1}) {
    add(all.input(i));
    if (all.labels.empty()) add(all.target(i));
    if (!all.labels.empty()) sum = checksum_of({all.label(i)}, sum);
  }
  return sum;
}

/// Numbers are finite; tokens are whole, from 0 to below the vocabulary.
inline void check_inputs(Arrays const& all, int vocabulary) {
  for (std::size_t i = 0; i < all.inputs.size(); ++i) {
    float const x = all.inputs[i];
    bool const good =
        vocabulary == 0 ? std::isfinite(x) : x >= 0 && x < static_cast<float>(vocabulary) && x == std::floor(x);
    if (good) continue;
    throw Error("x, sample " + std::to_string(i / all.each_input) + ": number " + std::to_string(i % all.each_input) +
                (vocabulary == 0 ? " is not finite; leave the sample out"
                                 : " is " + std::to_string(x) + ", which is no token of Embedding<" +
                                       std::to_string(vocabulary) + ", ...>"));
  }
}

/// The samples for training, and those held out: round(n * fraction) of every class, or of all if there are no classes,
/// drawn from the seed.
inline std::pair<Arrays, Arrays> split(Arrays const& all, double fraction, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(all.count));
  for (int i = 0; i < all.count; ++i) order[static_cast<std::size_t>(i)] = i;
  tensor::Random const draw{seed, tensor::Purpose::Shuffle, 0xffffffffu};  // the number of no epoch
  for (std::size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[draw.below(static_cast<std::uint32_t>(i + 1), i)]);
  if (!all.labels.empty())
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return all.label(a) < all.label(b); });
  Arrays training = all, held_out = all;
  for (auto from = order.begin(); from != order.end();) {
    auto const end = all.labels.empty()
                         ? order.end()
                         : std::find_if(from, order.end(), [&](int i) { return all.label(i) != all.label(*from); });
    auto const held = from + std::min(std::lround(static_cast<double>(end - from) * fraction), end - from - 1);
    held_out.index.insert(held_out.index.end(), from, held);
    training.index.insert(training.index.end(), held, end);
    from = end;
  }
  for (Arrays* part : {&training, &held_out}) {
    std::sort(part->index.begin(), part->index.end());
    part->count = static_cast<int>(part->index.size());
  }
  return {std::move(training), std::move(held_out)};
}

}  // namespace cleave::session
