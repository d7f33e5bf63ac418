// io/axis.hpp - lays a range of values along a stretch of pixels and marks it with round numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace cleave::io {

enum class Scale { Linear, Logarithmic };

/// A range of values laid along a stretch of pixels, with round numbers marked.
class Axis {
 public:
  Axis(Scale scale, double from, double to) : scale_(scale), from_(from), to_(to) {}

  bool holds(double value) const { return std::isfinite(value) && (scale_ == Scale::Linear || value > 0); }

  void widen(double value) {
    if (!holds(value)) return;
    low_ = empty_ ? value : std::min(low_, value);
    high_ = empty_ ? value : std::max(high_, value);
    empty_ = false;
  }

  /// Chooses the marks, once all values are in; with `round`, the ends move out to marks.
  void settle(bool round) {
    if (empty_) low_ = 1, high_ = 1;
    // Beyond this a step would drown in rounding: a flat curve needs room around it.
    if (high_ - low_ <= 1e-9 * std::max(std::abs(low_), std::abs(high_))) {
      double const room = low_ == 0 ? 1 : 0.5 * std::abs(low_);
      low_ -= room;
      high_ += room;
    }
    if (scale_ == Scale::Logarithmic && high_ > 4 * low_)
      mark_decades(round);
    else
      mark_steps(round);
  }

  double pixel(double value) const {
    bool const logarithmic = scale_ == Scale::Logarithmic;
    auto const place = [&](double v) { return logarithmic ? std::log10(v) : v; };
    return from_ + (to_ - from_) * (place(value) - place(low_)) / (place(high_) - place(low_));
  }

  std::vector<double> const& marks() const { return marks_; }

 private:
  void mark_steps(bool round) {
    double const rough = (high_ - low_) / 6;
    double const power = std::pow(10, std::floor(std::log10(rough)));
    double const lead = rough / power;
    double const step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
    // The slack keeps 0.30000000000000004 from costing a mark.
    double const slack = round ? 1 - 1e-6 : 1e-6;
    auto const first = std::ceil(low_ / step - slack);
    auto const last = std::floor(high_ / step + slack);
    for (double k = first; k <= last; ++k)
      if (holds(k * step)) marks_.push_back(k * step + 0.0);  // + 0.0 turns -0 into 0
    take_ends(round);
  }

  void mark_decades(bool round) {
    double const decades = std::log10(high_ / low_);
    double const stride = std::ceil(decades / 8);
    auto const mark = [&](double v) {
      bool const inside = v > low_ * (1 - 1e-9) && v < high_ * (1 + 1e-9);
      if (inside || round) marks_.push_back(v);
    };
    for (double k = std::floor(std::log10(low_)); k <= std::ceil(std::log10(high_)); k += stride) {
      mark(std::pow(10, k));
      if (decades > 3) continue;
      mark(2 * std::pow(10, k));
      mark(5 * std::pow(10, k));
    }
    // Of the marks outside, one below and one above are enough to round the ends.
    while (marks_.size() > 2 && marks_[1] <= low_) marks_.erase(marks_.begin());
    while (marks_.size() > 2 && marks_[marks_.size() - 2] >= high_) marks_.pop_back();
    take_ends(round);
  }

  void take_ends(bool round) {
    if (!round || marks_.empty()) return;
    low_ = std::min(low_, marks_.front());
    high_ = std::max(high_, marks_.back());
  }

  Scale scale_;
  double from_, to_;  // pixels
  double low_ = 0, high_ = 0;
  bool empty_ = true;
  std::vector<double> marks_;
};

}  // namespace cleave::io
