// optim/rate.hpp - the learning rate as a function of the step: constant, steps, cosine, each with a warm-up before it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

namespace cleave {

/// `static constexpr Rate rate = Rate::cosine(0.1f, 5000).warm_up(200);` in a plan. Steps count from 0.
struct Rate {
  enum class Shape : unsigned char { Constant, Steps, Cosine } shape = Shape::Constant;
  float base = 0.01f;
  long period = 1;   // Steps: steps between drops; Cosine: steps until `floor`, 0: the whole run
  float factor = 1;  // Steps: factor of each drop
  float floor = 0;   // Cosine: the final rate
  long warm = 0;     // steps of linear warm-up before all that
  friend constexpr bool operator==(Rate const&, Rate const&) = default;

  static constexpr Rate constant(float base) { return {Shape::Constant, base, 1, 1, 0, 0}; }
  static constexpr Rate steps(float base, long every, float factor) {
    return {Shape::Steps, base, every, factor, 0, 0};
  }
  static constexpr Rate cosine(float base, long until = 0, float floor = 0) {
    return {Shape::Cosine, base, until, 1, floor, 0};
  }
  constexpr Rate warm_up(long steps) const {
    Rate r = *this;
    r.warm = steps;
    return r;
  }

  /// This rate for a run of `steps` steps in total.
  constexpr Rate over(long steps) const {
    Rate r = *this;
    if (period == 0) r.period = steps > warm ? steps - warm : 1;
    return r;
  }

  /// Steps count from 0.
  float at(long step) const {
    if (step < warm) return base * static_cast<float>(step + 1) / static_cast<float>(warm);
    long const s = step - warm;
    switch (shape) {
      case Shape::Steps:
        return base * std::pow(factor, static_cast<float>(s / period));
      case Shape::Cosine: {
        if (period == 0) return base;  // a run without an end
        if (s >= period) return floor;
        double const turn = static_cast<double>(s) / static_cast<double>(period) * 3.14159265358979323846;
        return static_cast<float>(floor + (base - floor) * 0.5 * (1 + std::cos(turn)));
      }
      default:
        return base;
    }
  }
};

}  // namespace cleave
