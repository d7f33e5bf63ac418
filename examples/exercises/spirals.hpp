// exercises/spirals.hpp - points of three arms of a spiral, as a data set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave.hpp>

#include <cmath>
#include <span>

struct Spirals {
  using Input = cleave::Vector<2>;
  using Target = cleave::Class<3>;
  static constexpr bool in_memory = true;
  int first = 0, count = 1500;
  int size() const { return count; }
  int label(long i) const { return static_cast<int>(first + i) % 3; }
  void read(long i, std::span<float> x, int& y) const {
    y = label(i);
    double const k = static_cast<double>(first + i), r = std::fmod(k * 0.618034, 1), angle = 7 * r + y * 2.0944;
    double const noise = 0.1 * std::sin(k * 12.9898);
    x[0] = static_cast<float>(r * std::sin(angle + noise));
    x[1] = static_cast<float>(r * std::cos(angle + noise));
  }
};
