// data/dataset.hpp - the data set concept: samples by number, with an input and a class or values to compare with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

#include "../tensor/philox.hpp"
#include "../tensor/shape.hpp"

namespace cleave {

/// The target of a sample that is in one of n classes: its number, from 0. `Class<n, positions>`: of a sequence, each
/// of whose positions is in one.
template <int N, int Positions = 1> struct Class {
  static_assert(N >= 1 && Positions >= 1, "Class<n, positions>: the numbers of classes and positions are at least 1");
  static constexpr int classes = N, labels = Positions;
  static constexpr int ignored = -1;  // of a position that does not count: padding behind the end of a sequence
  using Read = std::conditional_t<Positions == 1, int&, std::span<int>>;
};
/// The target of a sample that has n numbers, or n labels of 0 or 1.
template <int N> struct Values {
  static_assert(N >= 1, "Values<n>: n, the targets of a sample, is at least 1");
  static constexpr int values = N;
  using Read = std::span<float>;
};

/// The random numbers of one sample in one epoch: a function of the seed, the epoch, the sample's number and k, hence
/// the same on any number of ranks. Each transform of a data set has a `stage` of its own.
struct Draw {
  std::uint64_t seed = 1;
  std::uint32_t epoch = 0, stage = 0;
  std::uint64_t sample = 0;

  /// k and the stage are below 65536.
  constexpr tensor::Words at(std::uint32_t k) const {
    return tensor::Random{seed, tensor::Purpose::Augment, epoch}.at(sample, stage << 16 | k);
  }
  /// In [0, 1).
  constexpr float uniform(std::uint32_t k) const { return static_cast<float>(at(k).a >> 8) * 0x1p-24f; }
  /// From 0 to below n.
  constexpr int below(int n, std::uint32_t k) const {
    return static_cast<int>((std::uint64_t{at(k).a} * static_cast<std::uint32_t>(n)) >> 32);
  }
};

/// A data set: `Input` is what the model begins with (Vector<n>, Image<c, h, w>), `Target` is Class<n> or Values<n>.
/// `size` is constant. `read(i, x, y)` fills x, all of the input, and y, which is an int& or the span of all values or
/// of the classes of all positions; it depends on i alone, may be called by several threads at once, and throws Error
/// where a sample cannot be read. May have: `static constexpr bool in_memory = true`, where reading is no more than
/// copying; `series = true`, where samples follow each other, so that the last ones are held out, and `overlap = n`,
/// where samples of a series that are n or fewer apart share some of its data; `int label(i)`, the class alone;
/// `class_names()`, a vector of strings; `float weight(i)`, of a sample in a SampleWeighted loss.
template <class D>
concept Dataset = requires(D const& data, long i, std::span<float> x, typename D::Target::Read y) {
  { D::Input::shape } -> std::convertible_to<Shape>;
  { data.size() } -> std::integral;
  { data.read(i, x, y) } -> std::same_as<void>;
};
/// One whose samples are varied at random in training, and only there.
template <class D>
concept VariedDataset = Dataset<D> &&
    requires(D const& data, long i, Draw const& draw, std::span<float> x, typename D::Target::Read y) {
  { data.read(i, draw, x, y) } -> std::same_as<void>;
};
template <class D>
concept ClassDataset = Dataset<D> && requires {
  D::Target::classes;
};

namespace session {

/// The numbers of a sample's target: of each position, or value.
template <class Target>
constexpr std::size_t numbers_of_target = [] {
  if constexpr (requires { Target::classes; }) return static_cast<std::size_t>(Target::labels);
  if constexpr (!requires { Target::classes; }) return static_cast<std::size_t>(Target::values);
}();

/// What a data set says of itself, or the default.
template <Dataset D>
constexpr bool is_in_memory = [] {
  if constexpr (requires { D::in_memory; }) return bool{D::in_memory};
  return false;
}();
template <Dataset D>
constexpr bool is_series = [] {
  if constexpr (requires { D::series; }) return bool{D::series};
  return false;
}();
template <Dataset D>
constexpr int overlap_of = [] {
  if constexpr (requires { D::overlap; }) return int{D::overlap};
  return 0;
}();

}  // namespace session

}  // namespace cleave
