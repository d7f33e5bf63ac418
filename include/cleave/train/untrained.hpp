// train/untrained.hpp - the stand-in for the trainer of an illegal plan, so that its violation is reported once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "../backend/host/execution/feed.hpp"
#include "../data/batch_range.hpp"
#include "../report/callback.hpp"
#include "laws.hpp"
#include "options.hpp"

namespace cleave::session {

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
  double loss() const { return 0; }
  long steps() const { return 0; }
  void set_steps(long) {}
  void set_rate(Rate) {}
};

}  // namespace cleave::session
