// train/untrained.hpp - stand-ins for trainers and predictors of what is not legal, so that a violation is reported once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "../backend/host/execution/feed.hpp"
#include "../data/batch_range.hpp"
#include "../report/callback.hpp"
#include "laws.hpp"
#include "options.hpp"

namespace cleave::session {

/// Stands in for the predictor of what is no legal model, so that the violation is reported once: takes the arguments
/// of one and does nothing.
struct Unpredicted {
  struct Nothing {
    static double value() { return 0; }
  };
  static constexpr int block = 1, vocabulary = 0;
  static constexpr long inputs = 1, outputs = 1, width = 1, weight_bytes = 0, activation_bytes = 0, bytes = 0;

  Unpredicted(auto&&...) {}
  void save(auto&&...) const {}
  std::vector<float> operator()(auto&&...) { return {}; }
  std::vector<float> probabilities(auto&&...) { return {}; }
  std::vector<int> classes(auto&&...) { return {}; }
  Nothing evaluate(auto&&...) { return {}; }
  std::vector<std::string> names(auto&&...) { return {}; }
  static std::vector<std::string> class_names() { return {}; }
};

/// Takes the arguments of a trainer and does nothing.
template <class P> struct Untrained {
  struct Plan {
    static constexpr bool legal = false;
    using Net = void;
  };
  using plan = std::conditional_t<IsPlan<P>, Plan, P>;

  Untrained(auto&&...) {}
  explicit Untrained(TrainerOptions const&) {}  // what is in braces has no type of its own
  std::vector<double> train(auto&&...) { return {}; }
  double step(auto&&...) { return 0; }
  History fit(auto&&, FitOptions const& = {}) { return {}; }
  History fit(auto&&, FitOptions const&, Watch const&) { return {}; }
  History fit(auto&&, auto&&, FitOptions const&, Watch const&) { return {}; }
  History fit(auto&&, auto&&, FitOptions const& = {}, auto&&...) { return {}; }
  backend::host::Score evaluate(auto&&...) { return {}; }
  void save(auto&&...) {}
  void load(auto&&...) {}
  void load_weights(auto&&...) {}
  void load_torch(auto&&, TorchNames const&) {}
  void save_torch(auto&&, TorchNames const&) {}
  std::vector<BatchAt> batches(auto&&, FitOptions const& = {}) { return {}; }
  std::vector<BatchAt> batches(auto&&, auto&&, FitOptions const& = {}) { return {}; }
  double accuracy(auto&&...) { return 0; }
  Unpredicted predictor(auto&&...) { return {}; }
  double loss() const { return 0; }
  long steps() const { return 0; }
  void set_steps(long) {}
  void set_rate(Rate) {}
};

}  // namespace cleave::session
