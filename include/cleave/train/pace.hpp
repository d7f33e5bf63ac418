// train/pace.hpp - how many steps a training loop makes in one call, between looking for signals and saving.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

namespace cleave::session {

/// What the processes of a run do next, all the same.
struct Next {
  bool stop = false, save = false;
  int steps = 1;      // in one call of train
  bool ends = false;  // a callback of fit says so
};
/// A signal counts wherever it came; time is that of the process that leads.
template <class Trained> Next agree_on(Trained& trainer, Next mine, bool leads) {
  if constexpr (requires { trainer.sum_over_processes(nullptr, 0); }) {
    double of[] = {mine.stop ? 1.0 : 0.0, leads && mine.save ? 1.0 : 0.0, leads ? static_cast<double>(mine.steps) : 0.0,
                   mine.ends ? 1.0 : 0.0};
    trainer.sum_over_processes(of, 4);
    return {of[0] > 0, of[1] > 0, std::max(1, static_cast<int>(of[2])), of[3] > 0};
  }
  return mine;
}

/// How many steps to make in a call of train, so that a signal is noticed within about a quarter of a second.
struct Pace {
  int least = 1, most = 16;
  double per_step = 0;  // seconds

  int next() const { return per_step > 0 ? static_cast<int>(std::clamp<double>(0.25 / per_step, least, most)) : least; }
  void took(int steps, double seconds) { per_step = seconds / steps; }
};
/// Replicas around a server rest at the end of a call: too short a call would make fast ones wait for slow ones.
template <class P> Pace pace_of([[maybe_unused]] int replicas) {
  Pace pace;
  if constexpr (P::served) {
    pace.most = 64;
    int const round = std::max(P::agreed::pace.push, P::agreed::pace.fetch);
    pace.least = std::min(pace.most, round > 1 ? round : P::agreed::waits ? 4 : 4 * replicas);
  }
  return pace;
}

}  // namespace cleave::session
