// backend/host/thread.hpp - starts a thread, or reports in one line that the system cannot.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "../../meta/error.hpp"

namespace cleave::backend::host {

/// A thread that runs `work`. Throws Error if the system cannot start one.
template <class Work> std::thread start_thread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (std::system_error const& e) {
    throw Error({"no further thread can be started: ", e.code().message(),
                 "; say fewer ranks, or allow more processes (ulimit -u) or memory"});
  }
}

}  // namespace cleave::backend::host
