// data/span_set.hpp - arrays of any type of number as a data set, and a function that makes samples.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <span>
#include <type_traits>
#include <utility>

#include "../meta/error.hpp"
#include "dataset.hpp"

namespace cleave {

/// A type of numbers: bytes, whole numbers, floating ones. A float has them exactly up to 2^24, and else rounded.
template <class T>
concept SampleNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

/// `SpanSet<Image<1, 28, 28>, Class<10>, std::uint8_t> const digits(pixels, labels);`: views of arrays, which must
/// outlive it. x (n, input), y (n, labels or values). Numbers are used as they are, times `scale`: 1 / 255.f for bytes.
/// Throws Error if sizes do not fit.
template <class InputT, class TargetT, SampleNumber X = float, SampleNumber Y = int> class SpanSet {
 public:
  using Input = InputT;
  using Target = TargetT;
  static constexpr bool in_memory = true;

  SpanSet(std::span<X const> x, std::span<Y const> y, float scale = 1) : x_(x), y_(y), scale_(scale) {
    if (x.empty() || x.size() % input != 0)
      throw Error({"x: ", x.size(), " numbers are no whole number of samples of ", input});
    if (y.size() % target != 0 || y.size() / target != x.size() / input)
      throw Error({"y: ", y.size(), " numbers for ", x.size() / input, " samples of ", target});
    if (!std::isfinite(scale)) throw Error("scale: is not finite");
  }

  long size() const { return static_cast<long>(x_.size() / input); }
  void read(long i, std::span<float> x, typename Target::Read y) const {
    auto const sample = static_cast<std::size_t>(i);
    std::ranges::transform(x_.subspan(sample * input, input), x.begin(),
                           [this](X v) { return static_cast<float>(v) * scale_; });
    auto const from = y_.subspan(sample * target, target);
    if constexpr (std::same_as<typename Target::Read, int&>) {
      y = class_of(from[0], i);
    } else if constexpr (classes) {
      std::ranges::transform(from, y.begin(), [&](Y v) { return class_of(v, i); });
    } else {
      std::ranges::transform(from, y.begin(), [](Y v) { return static_cast<float>(v); });
    }
  }
  int label(long i) const requires std::same_as<typename TargetT::Read, int&> {
    return class_of(y_[static_cast<std::size_t>(i)], i);
  }

 private:
  static constexpr bool classes = requires { TargetT::classes; };
  static_assert(!classes || std::is_integral_v<Y>, "SpanSet: classes are whole numbers");
  static constexpr std::size_t input = static_cast<std::size_t>(InputT::shape.size());
  static constexpr std::size_t target = session::numbers_of_target<TargetT>;

  static int class_of(Y v, long i) {
    if (!std::in_range<int>(v)) throw Error({"y, sample ", i, ": a label is no int"});
    return static_cast<int>(v);
  }

  std::span<X const> x_;
  std::span<Y const> y_;
  float scale_;
};

/// What `function_set` returns.
template <class InputT, class TargetT, class Function> class FunctionSet {
 public:
  using Input = InputT;
  using Target = TargetT;

  FunctionSet(long n, Function read) : n_(n), read_(std::move(read)) {
    if (n < 0) throw Error({"n: ", n, " samples"});
  }
  long size() const { return n_; }
  void read(long i, std::span<float> x, typename Target::Read y) const { read_(i, x, y); }

 private:
  long n_;
  Function read_;
};

/// `auto const sums = function_set<Vector<2>, Values<1>>(1000, [&](long i, std::span<float> x, std::span<float> y)
/// {});`: n samples that a function makes, or reads from a container of one's own. It depends on i alone; several
/// threads may call it at once. Throws Error for a negative n.
template <class Input, class Target, class Function> auto function_set(long n, Function read) {
  return FunctionSet<Input, Target, Function>(n, std::move(read));
}

}  // namespace cleave
