// backend/host/world.hpp - ranks as threads of one process: their arenas, and who has come how far.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../../meta/error.hpp"
#include "../../schedule/arena.hpp"

namespace cleave::backend::host {

/// Every step that communicates has a counter on every rank; it only grows. A rank writes its own and reads the
/// others'.
class World {
 public:
  World(schedule::Ranks ranks, int steps, std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : ranks_(ranks),
        stride_((static_cast<std::size_t>(steps) + 7) / 8 * 8),
        deadline_(deadline),
        spins_(static_cast<unsigned>(ranks.world()) <= std::thread::hardware_concurrency() ? 20000 : 20),
        reached_(new std::atomic<long>[stride_ * static_cast<std::size_t>(ranks.world())]()),
        arenas_(static_cast<std::size_t>(ranks.world())) {}

  schedule::Ranks ranks() const { return ranks_; }
  std::byte*& arena(int rank) { return arenas_[static_cast<std::size_t>(rank)]; }

  /// What was written before is seen by whoever sees the mark.
  void reach(int rank, int step, long mark) { counter(rank, step).store(mark, std::memory_order_release); }
  bool reached(int rank, int step, long mark) { return counter(rank, step).load(std::memory_order_acquire) >= mark; }

  /// Waits for a rank to come so far; ends with an error that names who waited for whom and where, never without end.
  void await(int rank, int step, long mark, int waiting) {
    if (reached(rank, step, mark)) return;
    for (int spin = 0; spin < spins_; ++spin) {
      if (reached(rank, step, mark)) return;
      pause();
    }
    auto const until = std::chrono::steady_clock::now() + deadline_;
    while (!reached(rank, step, mark)) {
      if (stopped_.load(std::memory_order_relaxed)) throw Stopped{};
      if (std::chrono::steady_clock::now() > until) {
        throw Error("rank " + std::to_string(waiting) + " waited " + std::to_string(deadline_.count()) +
                    " ms for rank " + std::to_string(rank) + " at step " + std::to_string(step) +
                    " of the schedule; is it still alive?");
      }
      sched_yield();
    }
  }

  /// One rank has failed: the others end their waits.
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  struct Stopped {};

 private:
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  std::atomic<long>& counter(int rank, int step) {
    return reached_[static_cast<std::size_t>(rank) * stride_ + static_cast<std::size_t>(step)];
  }

  schedule::Ranks ranks_;
  std::size_t stride_;
  std::chrono::milliseconds deadline_;
  int spins_;
  std::atomic<bool> stopped_{false};
  std::unique_ptr<std::atomic<long>[]> reached_;
  std::vector<std::byte*> arenas_;
};

}  // namespace cleave::backend::host
