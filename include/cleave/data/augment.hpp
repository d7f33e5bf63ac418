// data/augment.hpp - random changes of training samples: augmented<Flip, Shift<4>>(training).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdlib>
#include <string>
#include <vector>

#include "sample_source.hpp"

namespace cleave {

/// Changes a sample in place, before inputs are scaled; what it does follows from the draw alone. `dims` is that of the
/// samples it is for: 3 for images (c, h, w), 0 for any.
template <class T>
concept Transform = requires(Draw const& draw, std::span<float> x, Shape shape) {
  { T::dims } -> std::convertible_to<int>;
  { T::apply(draw, x, shape) } -> std::same_as<void>;
};

/// Left and right are exchanged in every second sample.
struct Flip {
  static constexpr int dims = 3;
  static void apply(Draw const& draw, std::span<float> x, Shape shape) {
    if (draw.below(2, 0) == 0) return;
    auto const width = static_cast<std::size_t>(shape[2]);
    for (float* at = x.data(); at < x.data() + x.size(); at += width) std::reverse(at, at + width);
  }
};
/// By up to `Pixels` down, up, left and right, drawn evenly; what comes in is 0.
template <int Pixels> struct Shift {
  static_assert(Pixels >= 1, "Shift<n>: n, the most pixels, is at least 1");
  static constexpr int dims = 3;
  static void apply(Draw const& draw, std::span<float> x, Shape shape) {
    int const dy = draw.below(2 * Pixels + 1, 0) - Pixels, dx = draw.below(2 * Pixels + 1, 1) - Pixels;
    int const height = shape[1], width = shape[2];
    for (int c = 0; c < shape[0]; ++c) {
      auto const row = [&](int y) { return x.data() + (static_cast<long>(c) * height + y) * width; };
      for (int k = 0; k < height; ++k) {
        int const y = dy >= 0 ? k : height - 1 - k, from = y + dy;  // rows that are read still are as they were
        if (from < 0 || from >= height || std::abs(dx) >= width) {
          std::fill_n(row(y), width, 0.0f);
          continue;
        }
        float* const to = row(y);
        if (from != y) std::copy_n(row(from), width, to);
        if (dx > 0) {
          std::copy(to + dx, to + width, to);
          std::fill_n(to + width - dx, dx, 0.0f);
        } else if (dx < 0) {
          std::copy_backward(to, to + width + dx, to + width);
          std::fill_n(to, -dx, 0.0f);
        }
      }
    }
  }
};
/// Every number of a sample is multiplied by one factor, from 1 - Percent / 100 to 1 + Percent / 100.
template <int Percent> struct Brightness {
  static_assert(Percent >= 1 && Percent <= 100, "Brightness<percent>: from 1 to 100");
  static constexpr int dims = 0;
  static void apply(Draw const& draw, std::span<float> x, Shape) {
    float const by = 1 + 0.01f * Percent * (2 * draw.uniform(0) - 1);
    for (float& v : x) v *= by;
  }
};

/// A data set whose samples are changed by each transform in turn: in training, and never in an evaluation. `of` must
/// outlive it.
template <Dataset D, Transform... Ts> class Augmented {
  static_assert(((Ts::dims == 0 || Ts::dims == D::Input::shape.dims) && ...),
                "augmented: Flip and Shift are for images; begin the data set with Image<channels, height, width>");

 public:
  using Input = typename D::Input;
  using Target = typename D::Target;
  static constexpr bool series = session::is_series<D>;
  static constexpr int overlap = session::overlap_of<D>;

  explicit Augmented(D const& of) : of_(&of) {}
  explicit Augmented(D const&& of) = delete;

  long size() const { return static_cast<long>(of_->size()); }
  void read(long i, std::span<float> x, typename Target::Read y) const { of_->read(i, x, y); }
  void read(long i, Draw const& draw, std::span<float> x, typename Target::Read y) const {
    if constexpr (VariedDataset<D>) {
      of_->read(i, draw, x, y);
    } else {
      of_->read(i, x, y);
    }
    Draw own = draw;
    own.stage = stage;
    ((Ts::apply(own, x, Input::shape), ++own.stage), ...);
  }
  long place(long i) const requires requires(D const& d) { d.place(0L); }
  { return of_->place(i); }
  int label(long i) const requires requires(D const& d) { d.label(0L); }
  { return of_->label(i); }
  float weight(long i) const requires requires(D const& d) { d.weight(0L); }
  { return of_->weight(i); }
  auto class_names() const requires requires(D const& d) { d.class_names(); }
  { return of_->class_names(); }

  /// Draws of the stages before it are the data set's own.
  static constexpr std::uint32_t stage = [] {
    if constexpr (requires { D::stages; }) return std::uint32_t{D::stages};
    return std::uint32_t{1};
  }();
  static constexpr std::uint32_t stages = stage + sizeof...(Ts);

 private:
  D const* of_;
};

/// `trainer.fit(augmented<Flip, Shift<4>, Brightness<20>>(training), test)`.
template <Transform... Ts, Dataset D> Augmented<D, Ts...> augmented(D const& of) { return Augmented<D, Ts...>(of); }
template <Transform... Ts, Dataset D> void augmented(D const&& of) = delete;  // it views the data set

}  // namespace cleave
