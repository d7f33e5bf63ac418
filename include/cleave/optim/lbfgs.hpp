// optim/lbfgs.hpp - L-BFGS without vectors: it issues operations on vectors stored elsewhere, and receives scalars.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>

namespace cleave::optim {

/// Operations on vectors, which are numbered. Only Dot returns a scalar.
enum class Verb : int {
  Copy,   // to = from
  Scale,  // to = factor from
  Axpy,   // to += factor from
  Point,  // to = from + factor with
  Dot     // from . with
};
inline constexpr int verbs = 5;
struct Operation {
  Verb what = Verb::Copy;
  int to = 0, from = 0, with = 0;
  double factor = 0;
};

/// The vectors. Pair i of the history is the step `steps + 2 i` and, after it, the change of the gradient.
struct Names {
  static constexpr int point = 0, gradient = 1, direction = 2, old_point = 3, old_gradient = 4, steps = 5;
  static constexpr int count(int memory) { return steps + 2 * memory; }
};

/// Keeps the scalars of up to `Memory` pairs. `issue(Operation) -> double` executes an operation, `look() -> double`
/// computes the gradient at the point and returns the loss. Sources: Nocedal & Wright, "Numerical optimization", 2nd
/// edition, algorithms 7.4 (two loops) and 7.5; the Wolfe conditions are 3.6, and met by bisection after Lewis &
/// Overton, "Nonsmooth optimization via quasi-Newton methods", 2013, section 2.2.
template <int Memory> struct Lbfgs {
  static_assert(Memory >= 1, "L-BFGS remembers at least one pair");
  static constexpr double decrease = 1e-4, curvature = 0.9, rounding = 1e-16;
  static constexpr int most_trials = 30;

  double curved[Memory]{}, change[Memory]{};  // s . y and y . y of each pair
  int pairs = 0, newest = -1;
  double loss = 0, slope = 0;  // the derivative along the last direction, where its search began
  bool started = false;
  int trials = 0;  // of the last iteration: gradients computed
  int forgotten = 0;

  /// One iteration. Returns false if no point along the steepest descent is lower, within the precision of the numbers;
  /// the point is then unchanged.
  template <class Issue, class Look> bool iterate(Issue issue, Look look) {
    if (!started) loss = look();
    started = true;
    trials = 0;
    while (!search(issue, look)) {
      if (pairs == 0) return false;
      pairs = 0;
      ++forgotten;
    }
    remember(issue);
    return true;
  }

 private:
  using N = Names;
  static constexpr int step(int pair) { return N::steps + 2 * pair; }
  int back(int k) const { return (newest - k + Memory) % Memory; }  // the k-th newest pair

  /// direction = -H gradient, by two loops over the history.
  template <class Issue> void direct(Issue issue) {
    double alpha[Memory];
    issue({Verb::Scale, N::direction, N::gradient, 0, -1});
    for (int k = 0; k < pairs; ++k) {
      int const i = back(k);
      alpha[i] = issue({Verb::Dot, 0, step(i), N::direction}) / curved[i];
      issue({Verb::Axpy, N::direction, step(i) + 1, 0, -alpha[i]});
    }
    if (pairs > 0) issue({Verb::Scale, N::direction, N::direction, 0, curved[newest] / change[newest]});
    for (int k = pairs - 1; k >= 0; --k) {
      int const i = back(k);
      double const beta = issue({Verb::Dot, 0, step(i) + 1, N::direction}) / curved[i];
      issue({Verb::Axpy, N::direction, step(i), 0, alpha[i] - beta});
    }
  }
  template <class Issue, class Look> bool search(Issue issue, Look look) {
    direct(issue);
    slope = issue({Verb::Dot, 0, N::gradient, N::direction});
    if (!(slope < 0)) return false;
    issue({Verb::Copy, N::old_point, N::point});
    issue({Verb::Copy, N::old_gradient, N::gradient});
    double low = 0, high = INFINITY, at = pairs > 0 ? 1 : std::fmin(1, 1 / std::sqrt(-slope));
    try {
      for (int t = 0; t < most_trials && -slope * at > rounding * std::fabs(loss);
           ++t) {  // a smaller decrease is below the rounding
        issue({Verb::Point, N::point, N::old_point, N::direction, at});
        double const here = look(), slope_here = issue({Verb::Dot, 0, N::gradient, N::direction});
        ++trials;
        bool const lower = here < loss && here <= loss + decrease * at * slope;
        if (!lower || !std::isfinite(slope_here)) {  // NaN is too far
          high = at;
        } else if (slope_here < curvature * slope) {
          low = at;
        } else {
          loss = here;
          return true;
        }
        at = high < INFINITY ? (low + high) / 2 : 2 * low;
      }
    } catch (...) {  // no replica to compute: the weights stay those of the last iteration
      put_back(issue);
      throw;
    }
    put_back(issue);
    return false;
  }
  template <class Issue> void put_back(Issue issue) {
    issue({Verb::Copy, N::point, N::old_point});
    issue({Verb::Copy, N::gradient, N::old_gradient});
  }
  template <class Issue> void remember(Issue issue) {
    int const to = (newest + 1) % Memory;
    issue({Verb::Point, step(to), N::point, N::old_point, -1});
    issue({Verb::Point, step(to) + 1, N::gradient, N::old_gradient, -1});
    double const sy = issue({Verb::Dot, 0, step(to), step(to) + 1});
    double const yy = issue({Verb::Dot, 0, step(to) + 1, step(to) + 1});
    newest = to;
    curved[to] = sy;
    change[to] = yy;
    pairs = sy > 0 ? (pairs < Memory ? pairs + 1 : Memory) : 0;  // positive by the Wolfe conditions, up to rounding
  }
};

}  // namespace cleave::optim
