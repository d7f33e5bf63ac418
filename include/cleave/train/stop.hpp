// train/stop.hpp - the exit codes of a training program, and the signals that ask it to save and stop.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iterator>
#include <string>

#include "../meta/in_library.hpp"

namespace cleave::session {

/// Exit codes of a program of `run(...)`, besides 0.
struct ExitCode {
  static constexpr int error = 2;          // one line on stderr says what to mend
  static constexpr int diverged = 3;       // a loss or a weight is not finite; no checkpoint was overwritten
  static constexpr int stopped = 75;       // stopped by a signal and saved: start it again with --resume auto
  static constexpr int interrupted = 130;  // by a second SIGINT, at once
};

/// While one lives, signals are noted and training stops at the next step: SIGTERM (batch systems), SIGINT (Ctrl-C),
/// SIGHUP (a closed terminal), SIGUSR1 (sbatch --signal=USR1@120) and SIGPIPE (the reader of the output is gone). A
/// second SIGINT ends the process at once. Signals that were ignored before (nohup) stay ignored. SIGXFSZ is ignored: a
/// write beyond the limit on file sizes fails like one on a full disk. The destructor restores the earlier handlers.
/// Created by `run(...)`, and by `fit` with `.stop_on_signals`; one at a time.
class StopSignals {
 public:
  CLEAVE_IN_LIBRARY StopSignals() {
    any_ = true;
    for (std::size_t i = 0; i < std::size(taken); ++i) {
      ::sigaction(taken[i].number, nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) continue;
      struct sigaction now {};
      now.sa_handler = taken[i].number == SIGXFSZ ? SIG_IGN : note;
      now.sa_flags = SA_RESTART;
      ::sigaction(taken[i].number, &now, nullptr);
    }
  }
  CLEAVE_IN_LIBRARY ~StopSignals() {
    for (std::size_t i = 0; i < std::size(taken); ++i) {
      bool const closed = taken[i].number == SIGPIPE && received_ == SIGPIPE;
      if (closed) before_[i].sa_handler = SIG_IGN;  // otherwise flushing the buffers would end the process
      ::sigaction(taken[i].number, &before_[i], nullptr);
    }
    received_ = 0;
    interrupts_ = 0;
    any_ = false;
  }
  StopSignals(StopSignals const&) = delete;
  StopSignals& operator=(StopSignals const&) = delete;

  /// Whether one lives.
  static bool any() { return any_; }
  /// The first signal since construction; 0: none.
  static int received() { return received_; }
  static std::string name_of(int number) {
    for (Taken const& t : taken) {
      if (t.number == number) return t.name;
    }
    return "another process";  // of the same run
  }

 private:
  struct Taken {
    int number;
    char const* name;
  };
  static constexpr Taken taken[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},   {SIGHUP, "SIGHUP"},
                                    {SIGUSR1, "SIGUSR1"}, {SIGPIPE, "SIGPIPE"}, {SIGXFSZ, "SIGXFSZ"}};

  static void note(int number) {
    if (number == SIGINT && interrupts_.fetch_add(1) > 0) ::_exit(ExitCode::interrupted);
    int none = 0;
    received_.compare_exchange_strong(none, number);
  }

  static inline std::atomic<bool> any_{false};
  static inline std::atomic<int> received_{0}, interrupts_{0};
  static_assert(std::atomic<int>::is_always_lock_free);
  struct sigaction before_[std::size(taken)]{};
};

}  // namespace cleave::session
