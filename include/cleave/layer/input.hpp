// layer/input.hpp - the shape of a sample: Vector, Sequence, Image, or several Inputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

#include "../meta/error.hpp"
#include "../op/input_part.hpp"
#include "../tensor/shape.hpp"
#include "graph.hpp"
#include "laws.hpp"

namespace cleave {

template <int Features> struct Vector {
  using law = layer::input_extents_are_positive<Features>;
  static constexpr Shape shape{Features};
};
/// Each position of a sequence has features of its own.
template <int Positions, int Features> struct Sequence {
  using law = layer::input_extents_are_positive<Positions, Features>;
  static constexpr Shape shape{Positions, Features};
};
template <int Channels, int Height, int Width> struct Image {
  using law = layer::input_extents_are_positive<Channels, Height, Width>;
  static constexpr Shape shape{Channels, Height, Width};
};

namespace layer {
/// The numbers of the first `part` inputs of a sample.
template <class... Parts> constexpr int numbers_before(int part) {
  int const sizes[] = {static_cast<int>(Parts::shape.size())...};
  int sum = 0;
  for (int k = 0; k < part; ++k) sum += sizes[k];
  return sum;
}
}  // namespace layer

/// A sample of several inputs, one behind the other: `using In = Inputs<Vector<12>, Image<1, 8, 8>>;`. A model begins
/// with it, and reads each input by a layer: `Branches<Concat, Path<In::at<0>, Linear<8>>, Path<In::at<1>, Conv<4,
/// 3>>>`. Tokens among them come as numbers: `In::at<0>, Embedding<100, 8, OfNumbers>`.
template <class... Parts> struct Inputs {
  static constexpr int sizes[] = {static_cast<int>(Parts::shape.size())...};
  static constexpr int count = sizeof...(Parts), whole = layer::numbers_before<Parts...>(count);
  static constexpr Shape shape{whole};
  /// As a layer: x (b, all), y (b, shape of part K).
  template <int K> struct at {
    static_assert(K >= 0 && K < count, "Inputs<...>::at<k>: the inputs are counted from 0");
    using ops = meta::list<op::InputPart<Inputs, layer::numbers_before<Parts...>(K),
                                         std::tuple_element_t<std::size_t{K}, std::tuple<Parts...>>>>;
    using policies = meta::list<>;
    static constexpr void connect(auto& graph) {
      graph.join(-1, -2);
      graph.mask = graph.no_mask;  // which is of the positions of another input
      ++graph.leaves;
    }
  };
  /// Part k of a sample x, as a data set writes it.
  template <class T> static std::span<T> part(int k, std::span<T> x) {
    return x.subspan(static_cast<std::size_t>(layer::numbers_before<Parts...>(k)), static_cast<std::size_t>(sizes[k]));
  }
  /// Of arrays (n, part), one for each part: (n, all). Throws Error if they are of other numbers of samples.
  static std::vector<float> join(std::array<std::span<float const>, sizeof...(Parts)> parts) {
    auto const size = [](int k) { return static_cast<std::size_t>(sizes[k]); };
    std::size_t const n = parts[0].size() / size(0);
    std::vector<float> out;
    for (int k = 0; k < count; ++k) {
      std::size_t const numbers = parts[static_cast<std::size_t>(k)].size();
      if (numbers != n * size(k))
        throw Error({"Inputs: ", numbers, " numbers of input ", k, " for ", n, " samples of ", size(k)});
    }
    out.reserve(n * static_cast<std::size_t>(whole));
    for (std::size_t i = 0; i < n; ++i) {
      for (int k = 0; k < count; ++k) {
        auto const of = parts[static_cast<std::size_t>(k)].subspan(i * size(k), size(k));
        out.insert(out.end(), of.begin(), of.end());
      }
    }
    return out;
  }
};

}  // namespace cleave
